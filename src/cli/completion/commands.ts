/** `vedette completion`: what a shell needs to complete the commands. */
import { Argument, type Command } from "commander";
import { type Exit, load } from "#cli/load.ts";
import { print } from "#cli/print.ts";
import type { Shell } from "./tree.ts";

const shells: Shell[] = ["bash", "zsh", "fish"];

/** Must be added last: it knows the commands that are there when it is called. */
export function addCompletionCommand(program: Command, exit: Exit): void {
  program
    .command("completion")
    .description("print a script that lets a shell complete these commands at Tab")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText("after", examples)
    .action(
      load(exit, async () => {
        const { completionScript } = await import("./tree.ts");
        return async (shell: Shell) => {
          print(completionScript(program, shell).trimEnd());
          return 0;
        };
      }),
    );
}

const examples = `
To have it in every new shell:
  bash   in ~/.bashrc: eval "$(vedette completion bash)"
  zsh    in ~/.zshrc, after compinit: source <(vedette completion zsh)
  fish   vedette completion fish > ~/.config/fish/completions/vedette.fish
`;
