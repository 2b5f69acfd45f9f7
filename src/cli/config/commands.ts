/** `vedette config`: the definitions of checks, heartbeats, channels and routes. */
import type { Command } from "commander";
import { definitionsFile, withConnection, withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addConfigCommands(program: Command, exit: Exit): void {
  const config = program
    .command("config")
    .description("check, print and apply definitions of checks, heartbeats, channels and routes");
  addFileCommands(config, exit);
  addApplyCommands(config, exit);
}

function addFileCommands(config: Command, exit: Exit): void {
  const from = () => import("./config.ts");
  const add = (name: string, description: string) =>
    withSettings(config.command(name), definitionsFile).description(description);
  add("check", "find mistakes in the file; exit code 1 when there are any").action(
    load(exit, async () => (await from()).check),
  );
  add("print", "print all rows, with defaults and with what the file extends and includes").action(
    load(exit, async () => (await from()).printRows),
  );
}

function addApplyCommands(config: Command, exit: Exit): void {
  const from = () => import("./config.ts");
  withFile(withConnection(config.command("plan")))
    .description("show what applying the file would change, row by row; exit code 2 when it would")
    .action(load(exit, async () => (await from()).plan));
  withFile(withConnection(config.command("apply")))
    .description("change the running program, without a restart; exit code 2 when rows are left")
    .action(load(exit, async () => (await from()).apply));
}

function withFile(command: Command): Command {
  return command
    .option("--config <file>", definitionsFile)
    .option("--prune", "also remove the rows that the file lacks", false);
}
