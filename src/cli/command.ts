/** The command line: its commands, and how errors are reported. */
import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import type { Role } from "#app/roles.ts";
import { roles } from "#kernel/roles.ts";
import { addAlertCommands } from "./alerts/commands.ts";
import { addCheckCommands } from "./checks/commands.ts";
import { addMonitorCommands } from "./checks/monitor-commands.ts";
import { addCompletionCommand } from "./completion/commands.ts";
import { addConfigCommands } from "./config/commands.ts";
import { withConnection } from "./connection-options.ts";
import { addCronCommands } from "./cron/commands.ts";
import { type Exit, load } from "./load.ts";
import { addOperatorCommands } from "./operator/commands.ts";
import { parseRoles } from "./options.ts";
import { addPinCommands } from "./pins/commands.ts";
import { complain } from "./print.ts";
import { addPromotionCommands } from "./promotions/commands.ts";
import { addRolloutCommands } from "./rollout/commands.ts";
import { addSentinelCommands } from "./sentinels/commands.ts";
import { addSignInCommands } from "./sign-in/commands.ts";
import { addWindowCommands } from "./windows/commands.ts";

/**
 * Runs one command and returns the exit code: 0 done (of a rollout: completed), 2 paused (of status: something is wrong),
 * 3 cancelled, 1 any error.
 */
export async function runCommand(argv: string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    for (const line of messageOf(error).split("\n")) complain(`vedette: ${line}`);
    return 1;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** All commands; `exit` gets the exit code of the one that was called. */
export function createProgram(exit: (code: number) => void): Command {
  const program = new Command("vedette")
    .description("Rolls a container image out to every sentinel of a fleet, wave by wave.")
    .version(readVersion(), "-V, --version", "print the version")
    .showHelpAfterError("(add --help for usage)")
    .addHelpText("after", examples)
    .exitOverride();
  program
    .command("start")
    .description("run the program until SIGTERM or SIGINT")
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .addOption(
      new Option("--role <role...>", "only these parts (default: all)").choices([
        "worker",
        "control",
        "api",
      ] satisfies Role[]),
    )
    .action(async (options) => (await import("./start.ts")).runStart(options));
  program
    .command("migrate")
    .description("bring the schema of a Postgres of your own up to date, without a start")
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .action(load(exit, async () => (await import("./migrate.ts")).migrateDatabase));
  program
    .command("init")
    .description("write a vedette.config.ts and a vedette.toml with comments into this directory")
    .action(load(exit, async () => (await import("./init/init.ts")).init));
  program
    .command("identity")
    .description("create the key pair with which a Restate of your own signs its requests")
    .requiredOption("--out <directory>", "where to write private.pem and public.key")
    .action(load(exit, async () => (await import("./identity.ts")).writeIdentity));
  program
    .command("operators")
    .description("people with tokens and roles of their own")
    .command("add <name>")
    .description("create a token, print it once, and print the setting that lets it in")
    .option("--roles <roles>", `of ${roles.join(", ")} (default: all)`, parseRoles)
    .option("--json", "print JSON for programs", false)
    .action(load(exit, async () => (await import("./add-operator.ts")).addOperator));
  addHealthCommands(program, exit);
  addSignInCommands(program, exit);
  addRolloutCommands(program, exit);
  addWindowCommands(program, exit);
  addPinCommands(program, exit);
  addPromotionCommands(program, exit);
  addSentinelCommands(program, exit);
  addConfigCommands(program, exit);
  addMonitorCommands(program, addCheckCommands(program, exit), exit);
  addCronCommands(program, exit);
  addAlertCommands(program, exit);
  addOperatorCommands(program, exit);
  addCompletionCommand(program, exit);
  return program;
}

function addHealthCommands(program: Command, exit: Exit): void {
  withConnection(program.command("status"))
    .description(
      "say what is wrong now: fleets, rollouts, alerts, deliveries (exit code 2: something is)",
    )
    .action(load(exit, async () => (await import("./status.ts")).showStatus));
  program
    .command("doctor")
    .description(
      "find what this installation lacks, also while it does not run (exit code 1: there is a fault)",
    )
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--data-dir <directory>", "of a local Vedette (default: that of the settings)")
    .option("--json", "print JSON for programs", false)
    .action(load(exit, async () => (await import("./doctor.ts")).runDoctor));
}

function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

const examples = `
Examples:
  vedette init                                          the files to begin with, with comments
  vedette start                                         everything on this machine
  vedette rollout start registry.example.com/team/sentinel:v2 --wait
  vedette sentinels list
  vedette checks list                                   the status of every check

Away from the machine that Vedette runs on:
  export VEDETTE_CONTROL_URL=https://rollouts.example.com
  vedette login                                         or INGRESS_TOKEN=…
  vedette rollout status
`;
