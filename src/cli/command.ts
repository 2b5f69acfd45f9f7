/** The command line: its commands, and how errors are reported. */
import { Argument, Command, CommanderError, Option } from "commander";
import type { Role } from "#app/base.ts";
import { addAlertCommands } from "#cli/alerts/commands.ts";
import { addCheckCommands, addMonitorCommands } from "#cli/checks/commands.ts";
import { addCiCommands } from "#cli/ci/commands.ts";
import { addConfigCommands } from "#cli/config/commands.ts";
import { addEngineCommands } from "#cli/engine/commands.ts";
import { addFleetCommands, addSentinelCommands } from "#cli/fleet/commands.ts";
import { addOperatorCommands } from "#cli/operator/commands.ts";
import { addRolloutCommands } from "#cli/rollout/commands.ts";
import { addPinCommands, addPromotionCommands, addWindowCommands } from "#cli/rows/commands.ts";
import { addSignInCommands } from "#cli/sign-in/commands.ts";
import { cronJobs } from "#cron/contract.ts";
import { readVersion } from "#kernel/process.ts";
import { roles } from "#kernel/roles.ts";
import type { Shell } from "./completion.ts";
import { settingsFile, withConnection, withSettings } from "./connection-options.ts";
import { type Exit, load } from "./load.ts";
import { parseRoles } from "./options.ts";
import { complain, print, printJson } from "./print.ts";

/** Runs one command; its exit code: 0 done or completed, 2 paused (status: something is wrong), 3 cancelled, 1 error. */
export async function runCommand(argv: string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(withoutHelpOfNone(program, argv));
    return exitCode;
  } catch (error) {
    return report(error, argv.includes("--json"));
  }
}

/** Returns the exit code. The help that was asked for is an error of commander, too. */
function report(error: unknown, isJson: boolean): number {
  const isByCommander = error instanceof CommanderError;
  const code = isByCommander ? error.exitCode : 1;
  const message = error instanceof Error ? error.message : String(error);
  // Commander has written its own already.
  if (!isByCommander) for (const line of message.split("\n")) complain(`vedette: ${line}`);
  if (isJson && code !== 0) printJson({ code: codeOf(error), message });
  return code;
}

/** The code of a refusal, also of one that caused the error; else `usage`, `unreachable` or `failed`. */
function codeOf(error: unknown): string {
  if (error instanceof CommanderError) return "usage";
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === "string" && /^[a-z_]+$/.test(code)) return code;
  return cause === undefined ? "failed" : codeOf(cause);
}

/** Removes the option for help if there is no such command: commander would print the help of all. */
function withoutHelpOfNone(program: Command, argv: string[]): string[] {
  const [node = "", file = "", ...words] = argv;
  const given = words[0] === "help" ? words.slice(1) : words;
  const isKnown = (command: Command, [name = "-", ...rest]: string[]): boolean => {
    const takesNames = command.registeredArguments.length > 0;
    if (name.startsWith("-") || command.commands.length === 0 || takesNames) return true;
    const found = command.commands.find((one) => one.name() === name);
    return found !== undefined && isKnown(found, rest);
  };
  if (isKnown(program, given)) return argv;
  return [node, file, ...given.filter((word) => word !== "--help" && word !== "-h")];
}

/** All commands; `exit` gets the exit code of the one that was called. */
export function createProgram(exit: (code: number) => void): Command {
  const program = new Command("vedette")
    .description("Roll a container image out to every sentinel of a fleet, wave by wave.")
    .version(readVersion(), "-V, --version", "print the version")
    .showHelpAfterError("(add --help for usage)")
    .addHelpText("after", examples)
    .exitOverride();
  program.commandsGroup("Rollouts:");
  addRolloutCommands(program, exit);
  addWindowCommands(program, exit);
  addPinCommands(program, exit);
  addPromotionCommands(program, exit);
  program.commandsGroup("Fleet:");
  addSentinelCommands(program, exit);
  addFleetCommands(program, exit);
  program.commandsGroup("Monitoring:");
  addStatusCommand(program, exit);
  addMonitorCommands(program, addCheckCommands(program, exit), exit);
  program.commandsGroup("Alerts:");
  addAlertCommands(program, exit);
  program.commandsGroup("API keys:");
  addOperatorCommands(program, exit);
  program.commandsGroup("Running it:");
  addStartCommands(program, exit);
  addDoctorCommand(program, exit);
  addCiCommands(program, exit);
  addSignInCommands(program, exit);
  addConfigCommands(program, exit);
  addCronCommands(program, exit);
  addEngineCommands(program, exit);
  addCompletionCommand(program, exit);
  return program.helpCommand(true);
}

function addStartCommands(program: Command, exit: Exit): void {
  program
    .command("start")
    .description("run the program until SIGTERM or SIGINT")
    .option("--config <file>", settingsFile)
    .addOption(
      new Option("--role <role...>", "run only these parts (default: all)").choices([
        "worker",
        "control",
        "api",
      ] satisfies Role[]),
    )
    .action(async (options) => (await import("./start.ts")).runStart(options));
  program
    .command("migrate")
    .description("apply the schema to your own Postgres, without a start")
    .option("--config <file>", settingsFile)
    .action(load(exit, async () => (await import("./migrate.ts")).migrateDatabase));
  program
    .command("init")
    .description("write a vedette.config.ts and a vedette.toml with comments into this directory")
    .action(load(exit, async () => (await import("./init.ts")).init));
  program
    .command("identity")
    .description("create the key pair with which a Restate of your own signs its requests")
    .requiredOption("--out <directory>", "directory for private.pem and public.key")
    .action(load(exit, async () => (await import("./identity.ts")).writeIdentity));
  program
    .command("operators")
    .description("manage operators: people with tokens and roles of their own")
    .command("add <name>")
    .description("create a token, print it once, and print the setting that lets it in")
    .option("--roles <roles>", `of ${roles.join(", ")} (default: all)`, parseRoles)
    .option("--json", "print JSON for programs", false)
    .action(load(exit, async () => (await import("./add-operator.ts")).addOperator));
}

function addStatusCommand(program: Command, exit: Exit): void {
  withConnection(program.command("status"))
    .description(
      "list current problems of fleets, rollouts, alerts, deliveries (exit code 2: there are some)",
    )
    .action(load(exit, async () => (await import("./status.ts")).showStatus));
}

function addDoctorCommand(program: Command, exit: Exit): void {
  withSettings(program.command("doctor"))
    .description(
      "diagnose this installation, also while it does not run (exit code 1: there is a fault)",
    )
    .option("--data-dir <directory>", "data directory of a local Vedette (default: the settings')")
    .action(load(exit, async () => (await import("./doctor.ts")).runDoctor));
}

function addCronCommands(program: Command, exit: Exit): void {
  const cron = program.command("cron").description("list and run the timed jobs");
  const from = () => import("./cron.ts");
  withConnection(cron.command("list"))
    .description("list the jobs: when each runs next, and how it last ended")
    .action(load(exit, async () => (await from()).listJobs));
  withConnection(cron.command("run"))
    .addArgument(
      new Argument("<job>", "its name, as listed by `vedette cron list`").choices(cronJobs),
    )
    .description("run a job now and wait for its end; exit code 1 when it failed")
    .action(load(exit, async () => (await from()).runJob));
}

const shells: Shell[] = ["bash", "zsh", "fish"];

/** Must be added last: it knows the commands that are there when it is called. */
function addCompletionCommand(program: Command, exit: Exit): void {
  program
    .command("completion")
    .description("print a script that lets a shell complete these commands at Tab")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .addHelpText("after", completionExamples)
    .action(
      load(exit, async () => {
        const { completionScript } = await import("./completion.ts");
        return async (shell: Shell) => {
          print(completionScript(program, shell).trimEnd());
          return 0;
        };
      }),
    );
}

const completionExamples = `
To have it in every new shell:
  bash   in ~/.bashrc: eval "$(vedette completion bash)"
  zsh    in ~/.zshrc, after compinit: source <(vedette completion zsh)
  fish   vedette completion fish > ~/.config/fish/completions/vedette.fish
`;

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
