/** `vedette login`, `logout`, `whoami` and `console`: signing in. */
import type { Command } from "commander";
import { withAddress, withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parsePort } from "#cli/options.ts";

export function addSignInCommands(program: Command, exit: Exit): void {
  withAddress(program.command("login"))
    .description(
      "sign in at the identity provider, in a browser; further commands act in your name",
    )
    .option("--device", "sign in by a code that you enter in a browser on any machine")
    .option(
      "--port <port>",
      "return to http://localhost:<port>/callback (default: a free port of 127.0.0.1)",
      parsePort,
    )
    .option("--no-browser", "print the address, and open no browser")
    .action(load(exit, async () => (await import("./login.ts")).login));
  withAddress(program.command("logout"))
    .description("end the session of `vedette login`, here and at control")
    .action(load(exit, async () => (await import("./login.ts")).logout));
  withConnection(program.command("whoami"))
    .description("print your name and roles for commands")
    .action(load(exit, async () => (await import("./login.ts")).whoAmI));
  withConnection(program.command("console"))
    .description("print a link to the console that signs in once")
    .option("--open", "open it in a browser, too")
    .action(load(exit, async () => (await import("./login.ts")).printConsole));
}
