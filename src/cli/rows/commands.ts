/** `vedette pins`, `promotions` and `windows`: rows that operators add and remove, and that rollouts follow. */
import { type Command, Option } from "commander";
import { withConnection, withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseFleet, parseInstant, parseReason } from "#cli/options.ts";
import { withSelector } from "#cli/selector.ts";

export function addPinCommands(program: Command, exit: Exit): void {
  const pins = program
    .command("pins")
    .description("manage pins: sentinels that rollouts leave out, with a reason and an end")
    .addHelpText("after", pinExamples);
  const from = () => import("./rows.ts");
  withFleet(pins.command("list"), "all of them")
    .description("list the pins")
    .action(load(exit, async () => (await from()).listPins));
  withSelector(withFleet(pins.command("add <id>"), "all of them"), "", "select sentinels")
    .description("add a pin; it applies to deploys that have not started, and not to rollbacks")
    .requiredOption("--reason <text>", "why", parseReason)
    .option("--ends <time>", "apply it until then, for example 2026-12-20T00:00:00Z", parseInstant)
    .action(load(exit, async () => (await from()).addPin));
  withConnection(pins.command("remove <id>"))
    .description("remove a pin")
    .requiredOption("--reason <text>", "why; the log keeps it", parseReason)
    .action(load(exit, async () => (await from()).removePin));
}

const pinExamples = `
Examples:
  vedette pins add debug-gw-7 --ids gw-7 --ends 2026-12-20T00:00:00Z --reason "a memory leak is looked at there"
  vedette pins add old-kernel --regions eu-central-1 --labels kernel=5 --reason "the new image needs a newer one"
  vedette pins remove debug-gw-7 --reason "it is found"
`;

export function addPromotionCommands(program: Command, exit: Exit): void {
  const promotions = program
    .command("promotions")
    .description("let a fleet take an image only after another one completed it")
    .addHelpText("after", promotionExamples);
  const from = () => import("./rows.ts");
  withFleet(promotions.command("list"), "all of them")
    .description("list the promotions")
    .action(load(exit, async () => (await from()).listPromotions));
  withFleet(promotions.command("add <id>"))
    .description("add a promotion; it applies to rollouts that are not started yet")
    .requiredOption("--after <fleet>", "the fleet that must complete the image first", parseFleet)
    .requiredOption("--reason <text>", "why", parseReason)
    .action(load(exit, async () => (await from()).addPromotion));
  withConnection(promotions.command("remove <id>"))
    .description("remove a promotion")
    .requiredOption("--reason <text>", "why; the log keeps it", parseReason)
    .action(load(exit, async () => (await from()).removePromotion));
}

const promotionExamples = `
Examples:
  vedette promotions add staging-first --fleet production --after staging --reason "our release process"
  vedette promotions remove staging-first --reason "incident 4711: the fix has to go out"
`;

export function addWindowCommands(program: Command, exit: Exit): void {
  const windows = program
    .command("windows")
    .description("manage allowed windows and freezes: when the waves of rollouts may start")
    .addHelpText("after", windowExamples);
  const from = () => import("./rows.ts");
  withFleet(windows.command("list"), "all of them")
    .description("list the windows, and say if a wave may start now")
    .action(load(exit, async () => (await from()).listWindows));
  withFleet(windows.command("add <id>"), "all of them")
    .description("add a window; it applies from the next wave, also of a rollout in progress")
    .addOption(
      new Option("--kind <kind>", "start waves only in allowed windows, and in no freeze")
        .choices(["allowed", "freeze"])
        .makeOptionMandatory(),
    )
    .requiredOption("--reason <text>", "why; who has to wait reads it", parseReason)
    .option("--time-zone <name>", "time zone of the days and times of day (default: UTC)")
    .option("--days <days>", "days on which it starts, for example mon,tue (default: every day)")
    .option("--from <time>", "time of day, for example 09:00 (default: the whole day)")
    .option("--to <time>", "end of the window (exclusive); at or before --from: on the next day")
    .option("--starts <time>", "apply from this time on, for example 2026-12-20T00:00:00Z")
    .option("--ends <time>", "apply until this time")
    .action(load(exit, async () => (await from()).addWindow));
  withConnection(windows.command("remove <id>"))
    .description("remove a window; a rollout that waits for it checks again at once")
    .requiredOption("--reason <text>", "why; a rollout that waits for it keeps it", parseReason)
    .action(load(exit, async () => (await from()).removeWindow));
}

const windowExamples = `
Examples:
  vedette windows add office-hours --kind allowed --time-zone Europe/Berlin --days mon,tue,wed,thu --from 09:00 --to 16:00 --reason "somebody is there"
  vedette windows add year-end --kind freeze --starts 2026-12-20T00:00:00Z --ends 2027-01-04T00:00:00Z --reason "the shop is busy"
  vedette windows remove year-end --reason "incident 4711: the fix has to go out"
`;
