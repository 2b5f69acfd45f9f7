import { styleText } from "node:util";
import type { CiEvidence } from "#ci/contract.ts";
import { createTable, plain } from "#cli/table.ts";
import type { FleetList } from "#fleet/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { formatUtc } from "#kernel/time.ts";
import {
  callerWords,
  evidenceWords,
  starterWords,
  stateWords,
  timeoutWords,
} from "#kernel/words.ts";
import {
  isLeftBehind,
  type RollbackResult,
  type RolloutHistory,
  type RolloutStatus,
} from "#rollout/contract.ts";
import { isStopped } from "./follow.ts";
import { standingOf } from "./progress.ts";

/** One line for each kind. */
export function evidenceLines(evidence: readonly CiEvidence[]): string[] {
  return evidence.map(({ kind, result, passes, detail, url }) => {
    const link = url === undefined ? "" : ` ${plain(url)}`;
    return `ci         ${kind} ${evidenceWords({ result, passes })}: ${plain(detail)}${link}`;
  });
}

type Colour = "green" | "red" | "yellow" | "cyan";

const colours: Record<RolloutStatus["state"], Colour> = {
  idle: "cyan",
  in_progress: "cyan",
  completed: "green",
  paused: "red",
  cancelled: "yellow",
  rolling_back: "yellow",
};

/** Most failed sentinels that are listed; the others are counted. */
const namedFailures = 20;

export function reportStatus(status: RolloutStatus): string {
  if (status.rollout_id === null) return "There was no rollout yet.";
  const { state, current_wave, total_waves, total, succeeded, failed, in_flight } = status;
  const image = shortenImage(status.image ?? "");
  return [
    `${paint(colours[state], plain(stateWords(status)).padEnd(12))} ${image}`,
    ...(status.fleet === undefined ? [] : [`  fleet      ${status.fleet}`]),
    `  rollout    ${status.rollout_id}`,
    ...(state === "completed" && total === 0
      ? []
      : [
          `  waves      ${current_wave} of ${total_waves}`,
          `  sentinels  ${succeeded} of ${total} on the image, ${failed} failed, ${in_flight} in flight`,
        ]),
    ...standingLines(status),
    ...((status.left_out ?? 0) === 0
      ? []
      : [`  left out   ${status.left_out} by pins and the request`]),
    ...(status.waiting_for == null ? [] : [`  waits for  ${waitWords(status)}`]),
    ...(status.watch_until === undefined
      ? []
      : [`  watched    until ${formatUtc(status.watch_until)}`]),
    ...(status.reason === undefined ? [] : [`  reason     ${plain(status.reason)}`]),
    ...evidenceLines(status.ci ?? []).map((line) => `  ${line}`),
    ...approvalLines(status),
    ...gateLines(status),
    ...named("failed", status.failed_sentinels, failed),
    ...logOf(status.failed_sentinels),
    ...stillOrdered(status),
    ...nextSteps(status).map((line) => withFleetOption(line, status.fleet)),
  ].join("\n");
}

function standingLines(status: RolloutStatus): string[] {
  const parts = standingOf(status).map(({ text, down }) =>
    down > 0 ? paint("red", plain(text)) : plain(text),
  );
  return parts.length === 0 ? [] : [`  now        ${parts.join(" ")}`];
}

function waitWords({ waiting_for, until }: RolloutStatus): string {
  return `the ${waiting_for}${until === undefined ? "" : `, until ${formatUtc(until)}`}`;
}

function approvalLines({ approved = [] }: RolloutStatus): string[] {
  return approved.map(({ wave, by, reason }) => {
    const why = reason === undefined ? "" : `: ${plain(reason)}`;
    return `  approved   wave ${wave} by ${plain(callerWords(by))}${why}`;
  });
}

function gateLines({ gate, state }: RolloutStatus): string[] {
  if (gate === undefined) return [];
  const checks = gate.checks.map(({ check, clean_runs, wanted_runs, failed_run: run }) => {
    const found =
      run === null
        ? `${clean_runs} of ${wanted_runs} clean runs since ${formatUtc(gate.since)}`
        : `failed at ${plain(run.location)}, ${formatUtc(run.at)}: ${plain(run.reason)}`;
    return `  gate       ${check}: ${found}`;
  });
  const others = gate.gates.flatMap(({ name, verdict, reason, readings, until, on_timeout }) => {
    const isClosed = verdict !== "pass" && state === "in_progress";
    const end = isClosed ? `; ${timeoutWords[on_timeout]} at ${formatUtc(until)}` : "";
    const last = readings.slice(-3);
    return [
      `  gate       ${name}: ${verdict}, ${plain(reason)}${end}`,
      ...last.map((one) => `             ${formatUtc(one.at)} ${one.verdict} ${plain(one.value)}`),
    ];
  });
  return [...checks, ...others];
}

export function reportRollback(result: RollbackResult): string {
  const left = Math.max(result.not_reverted.length, result.succeeded);
  const lines = [
    `${paint(colours[result.state], stateWords(result))}: ${nameReverted(result.reverted)}`,
    ...standingLines(result),
    ...(result.reason === undefined ? [] : [`  reason     ${plain(result.reason)}`]),
    ...named("not reverted", result.not_reverted, left),
    ...named("failed", result.still_ordered ?? [], result.still_ordered_count ?? 0),
    ...stillOrdered(result),
  ];
  if (left > 0) lines.push("Next: npx vedette rollout rollback   retries those");
  if ((result.still_ordered_count ?? 0) > 0) lines.push(putBackFailed);
  return withFleetOption(lines.join("\n"), result.fleet);
}

const putBackFailed =
  "Next: npx vedette rollout rollback --include-failed   puts the failed ones back, too";

function nameReverted(count: number): string {
  if (count === 0) return "nothing was reverted";
  const who = count === 1 ? "1 sentinel runs its" : `${count} sentinels run their`;
  return `${who} previous image again`;
}

/** The sentinels that are listed under "failed" just before: a rollback does not touch them. */
function stillOrdered({ still_ordered_count: count = 0, image }: RolloutStatus): string[] {
  if (count === 0) return [];
  const short = shortenImage(image ?? "");
  return [
    `  ${count} failed and ${count === 1 ? "is" : "are"} still ordered to run ${short}: the rollback did not touch them`,
  ];
}

function named(title: string, list: { id: string; reason: string }[], count: number): string[] {
  if (count === 0) return [];
  const lines = list.slice(0, namedFailures).map(({ id, reason }) => `    ${id}  ${plain(reason)}`);
  const more = count > lines.length ? [`    … and ${count - lines.length} more`] : [];
  return [`  ${title}`, ...lines, ...more];
}

/** Names the command that prints the log of one. An id that a shell would split into words is left out. */
function logOf(failed: readonly { id: string }[]): string[] {
  const id = failed.map((one) => one.id).find((one) => /^[\w./:@-]+$/.test(one));
  return id === undefined ? [] : [`    why: npx vedette sentinels log ${id}`];
}

function nextSteps(status: RolloutStatus): string[] {
  const { state, succeeded, failed, in_flight: inFlight, waiting_for: wait } = status;
  const alsoFailed = failed > 0 ? "; --include-failed those of the failed ones, too" : "";
  const restores = `restores the previous images${alsoFailed}`;
  if (wait === "approval") return approvalSteps(status);
  if (state === "paused") {
    return [
      "Next: npx vedette rollout resume     continues; --retry-failed deploys failed sentinels of the wave again",
      status.standing?.some(isLeftBehind)
        ? "      npx vedette rollout rollback --include-failed   restores the previous images, also where nothing is served"
        : `      npx vedette rollout rollback   ${restores}`,
      "      npx vedette rollout cancel     ends it and changes nothing",
    ];
  }
  // Sentinels in flight are about to take the image.
  if (state === "cancelled" && succeeded + inFlight > 0) {
    return [`Next: npx vedette rollout rollback   ${restores}`];
  }
  if (state === "cancelled" && failed > 0) return [putBackFailed];
  const follow = "Follow it: npx vedette rollout watch";
  const end = "Next: npx vedette rollout cancel   ends it before anything is deployed";
  if (state === "in_progress" && status.total_waves === 0) return [follow, end];
  return isStopped({ state }) ? [] : [follow];
}

function approvalSteps({ rollout_id: id, current_wave: current }: RolloutStatus): string[] {
  return [
    `Next: npx vedette rollout approve --rollout ${id} --wave ${current + 1}`,
    "      starts the wave; by an operator other than the starter",
  ];
}

export function reportHistory({ rollouts }: RolloutHistory): string {
  if (rollouts.length === 0) return "There was no rollout yet.";
  const table = createTable("started state image done failed by rollout reason".split(" "));
  for (const rollout of rollouts) {
    const { started_at, image, succeeded, reverted, total, started_by, ci_run } = rollout;
    const { failed_before: before } = rollout;
    const isNothing = rollout.state === "completed" && total === 0;
    const count = Math.max(0, succeeded + reverted - before);
    const back = rollout.outcome === "rolled_back" ? `, ${reverted} put back` : "";
    const done = isNothing ? "nothing to do" : `${count}/${total}${back}`;
    const counts = [done, rollout.failed + before];
    const start = [formatUtc(started_at), stateWords(rollout), shortenImage(image)];
    const by = plain(starterWords(started_by ?? "", ci_run));
    table.push([...start, ...counts, by, rollout.rollout_id, plain(rollout.reason ?? "")]);
  }
  return String(table);
}

export function reportSentinels({ sentinels, list_problem: problem }: FleetList): string {
  const never = problem && `No sentinel is known: the list was never read: ${plain(problem)}`;
  if (sentinels.length === 0) return never ?? "There are no sentinels.";
  const table = createTable(["sentinel", "region", "running", "deploy", "health", "reason"]);
  for (const { id, region, running_image, deploy_status, health, deploy_reason } of sentinels) {
    const image = shortenImage(running_image) || "nothing";
    table.push([id, region, image, deploy_status, health, plain(deploy_reason ?? "")]);
  }
  return String(table);
}

/** Colours only on a terminal; honours `NO_COLOR`. */
function paint(colour: Colour, text: string): string {
  return styleText(colour, text, { stream: process.stdout });
}

/** Adds the option to each command of the text; undefined: the default fleet, which needs none. */
export function withFleetOption(text: string, fleet: string | undefined): string {
  if (fleet === undefined) return text;
  return text.replace(/\bvedette rollout [a-z]+/g, (command) => `${command} --fleet ${fleet}`);
}
