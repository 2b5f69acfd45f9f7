/** `vedette completion`: prints a script by which a shell completes the commands. */
import type { Command } from "commander";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { completedCommands } from "./tree.ts";
import { zshScript } from "./zsh.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
export type Shell = keyof typeof scripts;

/** The script of all commands of `program`. */
export function completionScript(program: Command, shell: Shell): string {
  return scripts[shell](completedCommands(program));
}
