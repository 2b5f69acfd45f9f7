/** `vedette config`: the definitions of checks, heartbeats, channels and routes. */
import type { Command } from "commander";
import { type Exit, load } from "#cli/load.ts";
import { addApplyCommands } from "./apply-commands.ts";

export function addConfigCommands(program: Command, exit: Exit): void {
  const config = program
    .command("config")
    .description("definitions of checks, heartbeats, channels and routes");
  addFileCommands(config, exit);
  addApplyCommands(config, exit);
}

function addFileCommands(config: Command, exit: Exit): void {
  const from = () => import("./file.ts");
  const add = (name: string, description: string) =>
    config
      .command(name)
      .description(description)
      .option(
        "--config <file>",
        "the definitions (default: definitions.file, else vedette.config.*)",
      )
      .option("--json", "print JSON for programs", false);
  add("check", "look for mistakes in the file; exit code 1 when there are any").action(
    load(exit, async () => (await from()).check),
  );
  add("print", "print all rows, with defaults and with what the file extends and includes").action(
    load(exit, async () => (await from()).printRows),
  );
}
