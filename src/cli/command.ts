/** The command line: what there is to call, and what becomes of errors. */
import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { addAlertCommands } from "./alert-commands.ts";
import { addCheckCommands } from "./check-commands.ts";
import { withConnection } from "./connection-options.ts";
import { load } from "./load.ts";
import { addMonitorCommands } from "./monitor-commands.ts";
import { addOperatorCommands } from "./operator-commands.ts";
import {
  parseGateChecks,
  parseGateRuns,
  parseGateTimeout,
  parseJob,
  parseLimit,
  parseSentinelCount,
  parseWaves,
} from "./options.ts";
import { complain } from "./print.ts";

/**
 * Runs one command and answers the exit code: 0 done (of a rollout: completed), 2 paused,
 * 3 cancelled, 1 anything that went wrong.
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

function createProgram(exit: (code: number) => void): Command {
  const program = new Command("vedette")
    .description("Rolls a container image out to every sentinel of a fleet, wave by wave.")
    .version(readVersion(), "-V, --version", "print the version")
    .showHelpAfterError("(add --help for what there is)")
    .addHelpText("after", examples)
    .exitOverride();
  program
    .command("start")
    .description("run the program until it is told to stop")
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--role <role...>", "only these parts: worker, control, api (default: all)")
    .action(async (options) => (await import("./start.ts")).runStart(options));
  program
    .command("identity")
    .description("make the key pair with which a Restate of your own signs its requests")
    .requiredOption("--out <directory>", "where private.pem and public.key go")
    .action(load(exit, async () => (await import("./identity.ts")).writeIdentity));
  addRolloutCommands(program, exit);
  const sentinels = program.command("sentinels").description("the fleet");
  withConnection(sentinels.command("list"))
    .description("list the sentinels and the state of their last deploy")
    .action(load(exit, async () => (await import("./sentinels.ts")).listSentinels));
  withConnection(sentinels.command("confirm"))
    .description("take the fleet's list although it suddenly lacks many sentinels")
    .argument("<count>", "how many sentinels the fleet lists now", parseSentinelCount)
    .action(load(exit, async () => (await import("./sentinels.ts")).confirmSentinels));
  addMonitorCommands(program, addCheckCommands(program, exit), exit);
  addCronCommands(program, exit);
  addAlertCommands(program, exit);
  addOperatorCommands(program, exit);
  return program;
}

function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

function addRolloutCommands(program: Command, exit: (code: number) => void): void {
  const rollout = program
    .command("rollout")
    .description("start, follow and steer rollouts")
    .addHelpText("after", rolloutExamples);
  const add = (name: string, description: string) =>
    withConnection(rollout.command(name)).description(description);
  const from = async () => import("./rollout.ts");
  const gateHelp = "API checks that must be ok after each wave, for example verify-key,liveness";
  const wavesHelp = "cumulative percentages, for example 5,25,100 (default: 1,5,25,50,100)";

  add("start <image>", "start a rollout")
    .option("--waves <percentages>", wavesHelp, parseWaves)
    .option("--gate <checks>", gateHelp, parseGateChecks)
    .option(
      "--gate-clean-runs <count>",
      "how many runs of each must be ok (default: 1)",
      parseGateRuns,
    )
    .option("--gate-timeout <seconds>", "then the rollout pauses (default: 600)", parseGateTimeout)
    .addOption(waitOption())
    .addOption(detachOption())
    .action(load(exit, async () => (await from()).startRollout));
  add("plan <image>", "show the waves that a rollout would run, and change nothing")
    .option("--waves <percentages>", wavesHelp, parseWaves)
    .action(load(exit, async () => (await from()).showPlan));
  add("status", "show where the rollout is").action(
    load(exit, async () => (await from()).showStatus),
  );
  add("watch", "follow the rollout to its end; exit codes as with start --wait").action(
    load(exit, async () => (await from()).watch),
  );
  add("resume", "go on with the next wave after a failed one")
    .addOption(waitOption())
    .addOption(detachOption())
    .action(load(exit, async () => (await from()).resumeRollout));
  add("cancel", "start nothing more; what is in flight finishes").action(
    load(exit, async () => (await from()).cancelRollout),
  );
  add("rollback", "put the previous images back; exit code 2 when some did not revert").action(
    load(exit, async () => (await from()).rollBack),
  );
  add("history", "list past rollouts, newest first")
    .option("--limit <count>", "how many, 100 at most", parseLimit, 20)
    .action(load(exit, async () => (await from()).showHistory));
}

function addCronCommands(program: Command, exit: (code: number) => void): void {
  const cron = program.command("cron").description("the timed jobs");
  const from = async () => import("./cron.ts");
  withConnection(cron.command("list"))
    .description("list the jobs: when each runs next, and how it last ended")
    .action(load(exit, async () => (await from()).listJobs));
  withConnection(cron.command("run"))
    .argument("<job>", "its name, as `vedette cron list` has it", parseJob)
    .description("run a job now and wait for its end; exit code 1 when it failed")
    .action(load(exit, async () => (await from()).runJob));
}

function waitOption(): Option {
  return new Option(
    "--wait",
    "follow it to its end; exit code 0 completed, 2 paused, 3 cancelled, 1 error",
  ).conflicts("detach");
}

function detachOption(): Option {
  return new Option("--detach", "come back as soon as it has begun (default)");
}

const examples = `
Examples:
  vedette start                                         everything on this machine
  vedette rollout start registry.example.com/team/sentinel:v2 --wait
  vedette sentinels list
  vedette checks list                                   how the API stands

Away from the machine that Vedette runs on:
  export VEDETTE_CONTROL_URL=https://rollouts.example.com INGRESS_TOKEN=…
  vedette rollout status
`;

const rolloutExamples = `
Examples:
  vedette rollout plan registry.example.com/team/sentinel:v2      who is in which wave; changes nothing
  vedette rollout start registry.example.com/team/sentinel:v2 --waves 10,50,100 --wait
  vedette rollout watch                                           come back to one that runs
  vedette rollout resume --wait                                   a wave failed: go on with the next
  vedette rollout rollback                                        a wave failed: put everything back
  vedette rollout status --json | jq .failed_sentinels

Exit codes of start --wait, resume --wait and watch:
  0 completed   2 paused, a wave failed   3 cancelled   1 error   130 detached by Ctrl-C
`;
