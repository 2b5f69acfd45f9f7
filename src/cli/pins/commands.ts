/** `vedette pins`: the sentinels that rollouts leave out. */
import type { Command } from "commander";
import { withConnection, withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseInstant, parseReason } from "#cli/options.ts";
import { withSelector } from "#cli/selector.ts";

export function addPinCommands(program: Command, exit: Exit): void {
  const pins = program
    .command("pins")
    .description("manage pins: sentinels that rollouts leave out, with a reason and an end")
    .addHelpText("after", examples);
  const from = () => import("./pins.ts");
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

const examples = `
Examples:
  vedette pins add debug-gw-7 --ids gw-7 --ends 2026-12-20T00:00:00Z --reason "a memory leak is looked at there"
  vedette pins add old-kernel --regions eu-central-1 --labels kernel=5 --reason "the new image needs a newer one"
  vedette pins remove debug-gw-7 --reason "it is found"
`;
