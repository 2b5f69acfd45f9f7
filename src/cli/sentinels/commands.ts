import type { Command } from "commander";
import { withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseSentinelCount } from "#cli/options.ts";

export function addSentinelCommands(program: Command, exit: Exit): void {
  const sentinels = program.command("sentinels").description("show the sentinels of a fleet");
  withFleet(sentinels.command("list"))
    .description("list the sentinels and the state of their last deploy")
    .action(load(exit, async () => (await import("./sentinels.ts")).listSentinels));
  withFleet(sentinels.command("log"))
    .description("print the end of a sentinel's log: of its newest failed deploy")
    .argument("<sentinel>", "the sentinel's id")
    .option("--running", "compare with the configuration that runs there now", false)
    .action(load(exit, async () => (await import("./sentinels.ts")).showLog));
  withFleet(sentinels.command("confirm"))
    .description("accept the fleet's list although it suddenly lacks many sentinels")
    .argument("<count>", "the number of sentinels that the fleet lists now", parseSentinelCount)
    .action(load(exit, async () => (await import("./sentinels.ts")).confirmSentinels));
}
