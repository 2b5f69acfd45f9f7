/** `vedette config plan` and `apply`: the definitions of a running program. */
import type { Command } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addApplyCommands(config: Command, exit: Exit): void {
  const from = () => import("./apply.ts");
  withFile(withConnection(config.command("plan")))
    .description("show what applying the file would change, row by row; exit code 2 when it would")
    .action(load(exit, async () => (await from()).plan));
  withFile(withConnection(config.command("apply")))
    .description("change the running program, without a restart; exit code 2 when rows are left")
    .action(load(exit, async () => (await from()).apply));
}

function withFile(command: Command): Command {
  return command
    .option("--config <file>", "the definitions (default: definitions.file, else vedette.config.*)")
    .option("--prune", "also remove the rows that the file lacks", false);
}
