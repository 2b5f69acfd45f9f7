/** `vedette config`: the definitions of checks, heartbeats, channels and routes. */
import type { Command } from "commander";
import type { Exit } from "#cli/load.ts";
import { addApplyCommands } from "./apply-commands.ts";

export function addConfigCommands(program: Command, exit: Exit): void {
  const config = program
    .command("config")
    .description("definitions of checks, heartbeats, channels and routes");
  addApplyCommands(config, exit);
}
