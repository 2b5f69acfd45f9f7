/** `vedette rollout`: starts, follows and controls rollouts. */
import { type Command, Option } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import {
  parseGateChecks,
  parseGateRuns,
  parseGateTimeout,
  parseLimit,
  parseWaves,
} from "#cli/options.ts";

export function addRolloutCommands(program: Command, exit: Exit): void {
  const rollout = program
    .command("rollout")
    .description("start, follow and control rollouts")
    .addHelpText("after", examples);
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
  add("status", "show the state of the rollout").action(
    load(exit, async () => (await from()).showStatus),
  );
  add("watch", "follow the rollout to its end; exit codes as with start --wait").action(
    load(exit, async () => (await from()).watch),
  );
  add("resume", "continue with the next wave after a failed one")
    .addOption(waitOption())
    .addOption(detachOption())
    .action(load(exit, async () => (await from()).resumeRollout));
  add("cancel", "start no more deploys; those in flight finish").action(
    load(exit, async () => (await from()).cancelRollout),
  );
  add("rollback", "restore the previous images; exit code 2 when some were not reverted").action(
    load(exit, async () => (await from()).rollBack),
  );
  add("history", "list past rollouts, newest first")
    .option("--limit <count>", "how many, 100 at most", parseLimit, 20)
    .action(load(exit, async () => (await from()).showHistory));
}

function waitOption(): Option {
  return new Option(
    "--wait",
    "follow it to its end; exit code 0 completed, 2 paused, 3 cancelled, 1 error",
  ).conflicts("detach");
}

function detachOption(): Option {
  return new Option("--detach", "return as soon as it has started (default)");
}

const examples = `
Examples:
  vedette rollout plan registry.example.com/team/sentinel:v2      who is in which wave; changes nothing
  vedette rollout start registry.example.com/team/sentinel:v2 --waves 10,50,100 --wait
  vedette rollout watch                                           follow one that runs
  vedette rollout resume --wait                                   a wave failed: continue with the next
  vedette rollout rollback                                        a wave failed: restore previous images
  vedette rollout status --json | jq .failed_sentinels

Exit codes of start --wait, resume --wait and watch:
  0 completed   2 paused, a wave failed   3 cancelled   1 error   130 detached by Ctrl-C
`;
