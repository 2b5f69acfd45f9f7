/** `vedette rollout`: starts, follows and controls rollouts. */
import { type Command, Option } from "commander";
import { withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import {
  parseFailureLimit,
  parseGateChecks,
  parseGateRuns,
  parseGateTimeout,
  parseLabels,
  parseList,
  parseNotBefore,
  parseReason,
  parseSoak,
  parseWave,
  parseWaves,
  wholeNumber,
} from "#cli/options.ts";
import { withSelector } from "#cli/selector.ts";
import { Approvals, OnFailure } from "#rollout/policy/contract.ts";

export function addRolloutCommands(program: Command, exit: Exit): void {
  const rollout = program
    .command("rollout")
    .description("start, follow and control rollouts")
    .addHelpText("after", examples);
  const add = (name: string, description: string) =>
    withFleet(rollout.command(name)).description(description);
  const from = async () => import("./rollout.ts");

  withRequest(add("start <image>", "start a rollout"))
    .addOption(waitOption())
    .addOption(detachOption())
    .action(load(exit, async () => (await from()).startRollout));
  withRequest(
    add("plan <image>", "show the waves that a rollout would run, and change nothing"),
  ).action(load(exit, async () => (await from()).showPlan));
  add("status", "show the state of the rollout").action(
    load(exit, async () => (await from()).showStatus),
  );
  add("watch", "follow the rollout to its end; exit codes as with start --wait").action(
    load(exit, async () => (await from()).watch),
  );
  add("resume", "continue after a pause; failed sentinels are not deployed again")
    .option("--retry-failed", "deploy the failed sentinels of the wave again, too")
    .addOption(waitOption())
    .addOption(detachOption())
    .action(load(exit, async () => (await from()).resumeRollout));
  add("pause", "start no more deploys; those in flight finish, and resume continues").action(
    load(exit, async () => (await from()).pauseRollout),
  );
  add("skip", "end what the rollout waits for: a soak, a gate or a window")
    .requiredOption("--reason <text>", "why; the console and the chat message have it", parseReason)
    .action(load(exit, async () => (await from()).skipWait));
  add("approve", "approve the wave that waits for it; by an operator other than the starter")
    .option("--reason <text>", "why; the console and the chat message have it", parseReason)
    .option("--wave <number>", "only if it is this one that waits", parseWave)
    .option("--rollout <id>", "only if it is this rollout")
    .action(load(exit, async () => (await from()).approveWave));
  add("cancel", "start no more deploys; those in flight finish").action(
    load(exit, async () => (await from()).cancelRollout),
  );
  add("rollback", "restore the previous images; exit code 2 when some were not reverted")
    .option("--wait", "follow it to its end, as it always does")
    .option("--include-failed", "also on sentinels that failed")
    .action(load(exit, async () => (await from()).rollBack));
  add("history", "list past rollouts, newest first")
    .option("--limit <count>", "how many, 100 at most", wholeNumber(1, 100), 20)
    .action(load(exit, async () => (await from()).showHistory));
}

/** Adds the options of a rollout's request. */
function withRequest(command: Command): Command {
  return withChoice(withPolicy(command));
}

function withChoice(command: Command): Command {
  return withSelector(withSelector(command, "exclude-", "leave these out"), "only-", "only these")
    .option(
      "--regions <regions>",
      "an order: these regions first, all others after them (none but these: --only-regions)",
      parseList,
    )
    .option("--canary <labels>", "sentinels with these labels first: tier=canary", parseLabels)
    .option("--max-per-region <limit>", "of one region in a wave: 3, or 25%", parseFailureLimit)
    .option(
      "--max-unavailable <limit>",
      "unhealthy, failed or in flight at one time: 3, or 10%",
      parseFailureLimit,
    );
}

function withPolicy(command: Command): Command {
  return command
    .option(
      "--waves <percentages>",
      "cumulative percentages, for example 5,25,100 (default: 1,5,25,50,100)",
      parseWaves,
    )
    .option(
      "--gate <checks>",
      "API checks that must be ok after each wave, for example liveness,rate-limit",
      parseGateChecks,
    )
    .option(
      "--gate-clean-runs <count>",
      "how many runs of each must be ok (default: 1)",
      parseGateRuns,
    )
    .option("--gate-timeout <time>", "then the rollout pauses (default: 10m)", parseGateTimeout)
    .option("--max-failed <limit>", "how many deploys may fail in all: 3, or 2%", parseFailureLimit)
    .option("--max-failed-per-wave <limit>", "how many may fail in one wave", parseFailureLimit)
    .addOption(
      new Option(
        "--on-failure <action>",
        "what follows too many failures (default: pause)",
      ).choices(OnFailure.options),
    )
    .option("--soak <time>", "watch each wave for so long: 10m, or 1h,10m,0", parseSoak)
    .option(
      "--not-before <time>",
      "start the first wave then, for example 2026-12-01T22:00:00Z",
      parseNotBefore,
    )
    .addOption(
      new Option("--approvals <which>", "waves that another operator has to approve").choices(
        Approvals.options,
      ),
    )
    .option("--reason <text>", "why it is done", parseReason);
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
  vedette rollout resume --retry-failed --wait                    the same, failed sentinels are tried again first
  vedette rollout rollback                                        a wave failed: restore previous images
  vedette rollout start registry.example.com/team/sentinel:v3 --soak 10m --max-failed 2% --on-failure rollback
  vedette rollout status --json | jq .failed_sentinels
  vedette rollout start registry.example.com/team/sentinel:v2 --fleet staging --wait

Exit codes of start --wait, resume --wait and watch:
  0 completed   2 paused, a wave failed   3 cancelled   1 error   130 detached by Ctrl-C
`;
