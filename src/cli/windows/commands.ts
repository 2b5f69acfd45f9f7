/** `vedette windows`: when the waves of rollouts may start. */
import { type Command, Option } from "commander";
import { withConnection, withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseReason } from "#cli/options.ts";

export function addWindowCommands(program: Command, exit: Exit): void {
  const windows = program
    .command("windows")
    .description("manage allowed windows and freezes: when the waves of rollouts may start")
    .addHelpText("after", examples);
  const from = () => import("./windows.ts");
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

const examples = `
Examples:
  vedette windows add office-hours --kind allowed --time-zone Europe/Berlin --days mon,tue,wed,thu --from 09:00 --to 16:00 --reason "somebody is there"
  vedette windows add year-end --kind freeze --starts 2026-12-20T00:00:00Z --ends 2027-01-04T00:00:00Z --reason "the shop is busy"
  vedette windows remove year-end --reason "incident 4711: the fix has to go out"
`;
