/** `vedette fleet`, what runs another image than the desired one and what is held, and `vedette sentinels`. */
import type { Command } from "commander";
import { withConnection, withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseReason, parseSentinelCount } from "#cli/options.ts";
import { withSelector } from "#cli/selector.ts";

export function addFleetCommands(program: Command, exit: Exit): void {
  const fleet = program
    .command("fleet")
    .description("compare a fleet with its desired images, and hold sentinels")
    .addHelpText("after", examples);
  const from = () => import("./fleet.ts");
  withFleet(fleet.command("drift"))
    .description("list the sentinels that run another image than the desired one")
    .action(load(exit, async () => (await from()).showDrift));
  withSelector(withFleet(fleet.command("hold")), "", "select sentinels")
    .description("keep every rollout off sentinels, or off the whole fleet, until it is released")
    .requiredOption("--reason <text>", "why", parseReason)
    .action(load(exit, async () => (await from()).hold));
  withConnection(fleet.command("release <hold>"))
    .description("end a hold, by the name that drift lists")
    .requiredOption("--reason <text>", "why; the log keeps it", parseReason)
    .action(load(exit, async () => (await from()).release));
}

const examples = `
Examples:
  vedette fleet drift
  vedette fleet hold --ids gw-7 --reason "its image was changed by hand: incident 4711"
  vedette fleet release hold-1f0c2a9b --reason "incident 4711 is over"
`;

export function addSentinelCommands(program: Command, exit: Exit): void {
  const sentinels = program.command("sentinels").description("show the sentinels of a fleet");
  withFleet(sentinels.command("list"))
    .description("list the sentinels and the state of their last deploy")
    .action(load(exit, async () => (await import("./fleet.ts")).listSentinels));
  withFleet(sentinels.command("log"))
    .description("print the end of a sentinel's log: of its newest failed deploy")
    .argument("<sentinel>", "the sentinel's id")
    .option("--running", "compare with the configuration that runs there now", false)
    .action(load(exit, async () => (await import("./fleet.ts")).showLog));
  withFleet(sentinels.command("confirm"))
    .description("accept the fleet's list although it suddenly lacks many sentinels")
    .argument("<count>", "the number of sentinels that the fleet lists now", parseSentinelCount)
    .action(load(exit, async () => (await import("./fleet.ts")).confirmSentinels));
}
