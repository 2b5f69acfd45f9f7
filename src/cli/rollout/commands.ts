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
  parseWatch,
  parseWave,
  parseWaves,
  wholeNumber,
} from "#cli/options.ts";
import { withSelector } from "#cli/selector.ts";
import { Approvals, OnFailure } from "#rollout/policy-contract.ts";

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
  add("pause", "pause: start no more deploys; those in flight finish, and resume continues").action(
    load(exit, async () => (await from()).pauseRollout),
  );
  add("skip", "skip the current wait of the rollout: a soak, a gate or a window")
    .requiredOption("--reason <text>", "why; the console and the chat message have it", parseReason)
    .action(load(exit, async () => (await from()).skipWait));
  add("approve", "approve the pending wave; by another operator than the starter")
    .option("--reason <text>", "why; the console and the chat message have it", parseReason)
    .option("--wave <number>", "approve only if this wave is pending", parseWave)
    .option("--rollout <id>", "approve only in this rollout")
    .option("--gate <name>", "confirm this gate of the kind pause, and approve no wave")
    .action(load(exit, async () => (await from()).approveWave));
  add("cancel", "start no more deploys; those in flight finish").action(
    load(exit, async () => (await from()).cancelRollout),
  );
  add("rollback", "restore the previous images; exit code 2 when some were not reverted")
    .option("--wait", "follow it to its end (always on)")
    .option("--include-failed", "also on sentinels that failed")
    .action(load(exit, async () => (await from()).rollBack));
  add("history", "list past rollouts, newest first")
    .option("--limit <count>", "most rollouts to list, up to 100", wholeNumber(1, 100), 20)
    .action(load(exit, async () => (await from()).showHistory));
  add("replay [id]", "show what another policy would have done with a past rollout, or several")
    .requiredOption("--policy <file>", "YAML or JSON with the policy fields of a Rollout request")
    .option("--last <count>", "replay the newest ones, up to 100", wholeNumber(1, 100))
    .action(load(exit, async () => (await import("./replay.ts")).replayRollouts));
  addProofCommands(add("proof <id>", "write the signed proof of a rollout that has ended"), exit);
}

function addProofCommands(proof: Command, exit: Exit): void {
  const from = () => import("./proof.ts");
  proof
    .option("--out <file>", "write it to this file (default: to stdout)")
    .action(load(exit, async () => (await from()).writeProof));
  proof
    .command("verify <file>")
    .description("verify a proof without a running Vedette; exit code 2: it was changed")
    .requiredOption("--key <file>", "the public keys: JSON of /.well-known/…, or PEM")
    .option("--json", "print JSON for programs", false)
    // The command around it has --json, too, and takes it.
    .action((file: string, _: object, verify: Command) =>
      load(exit, async () => (await from()).verifyProof)(file, verify.optsWithGlobals(), verify),
    );
}

function withRequest(command: Command): Command {
  return withChoice(withPolicy(command));
}

function withChoice(command: Command): Command {
  return withSelector(withSelector(command, "exclude-", "leave these out"), "only-", "only these")
    .option(
      "--regions <regions>",
      "take these regions first, then all others (to take no others: --only-regions)",
      parseList,
    )
    .option("--canary <labels>", "take sentinels with these labels first: tier=canary", parseLabels)
    .option("--max-per-region <limit>", "limit of a region in a wave: 3, or 25%", parseFailureLimit)
    .option(
      "--max-unavailable <limit>",
      "most sentinels unhealthy, failed or in flight at one time: 3, or 10%",
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
      "runs of each check that must be ok (default: 1)",
      parseGateRuns,
    )
    .option("--gate-timeout <time>", "pause after this time (default: 10m)", parseGateTimeout)
    .option("--gates <file>", "gates of all kinds: a list in YAML or JSON")
    .option("--max-failed <limit>", "most failed deploys in all: 3, or 2%", parseFailureLimit)
    .option("--max-failed-per-wave <limit>", "most failed deploys in one wave", parseFailureLimit)
    .addOption(
      new Option(
        "--on-failure <action>",
        "action after too many failures (default: pause)",
      ).choices(OnFailure.options),
    )
    .option("--soak <time>", "watch each wave for this time: 10m, or 1h,10m,0", parseSoak)
    .option("--watch-for <time>", "watch it for this time once it has completed: 1h", parseWatch)
    .option(
      "--not-before <time>",
      "start the first wave at this time, for example 2026-12-01T22:00:00Z",
      parseNotBefore,
    )
    .addOption(
      new Option("--approvals <which>", "waves that another operator has to approve").choices(
        Approvals.options,
      ),
    )
    .option("--reason <text>", "record the reason", parseReason);
}

function waitOption(): Option {
  return new Option(
    "--wait",
    "follow it to its end; exit code 0 completed, 2 paused, 3 cancelled, 1 error",
  ).conflicts("detach");
}

function detachOption(): Option {
  return new Option("--detach", "return as soon as the rollout has started (default)");
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
  vedette rollout replay --last 50 --policy stricter.yaml         would it have stopped them?
  vedette rollout proof inv_1 --out proof.json                    what it was, signed
  vedette rollout proof verify proof.json --key keys.json         is it unchanged?

Exit codes of start --wait, resume --wait and watch:
  0 completed   2 paused, a wave failed   3 cancelled   1 error   130 detached by Ctrl-C
`;
