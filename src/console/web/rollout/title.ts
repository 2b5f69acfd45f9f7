/** The state of a rollout in a few words, for the heading and for the tab. Pure. */
import { count, percent, sentinels, shortImage } from "#console/web/format.ts";
import { callerWords, capitalize, stateWords } from "#kernel/words.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import { awaitedWave } from "./approval.ts";
import { downOf } from "./questions.ts";

type Shown = Pick<RolloutDetail, "status" | "messages" | "waves">;
type Status = RolloutDetail["status"];

export function titleOf(detail: Shown): string {
  const { status } = detail;
  if (status.state === "in_progress") return runningTitle(status);
  if (status.state === "paused") return `${pausedWhere(status)}${pausedWhy(detail)}`;
  if (status.outcome === "rolled_back") return rolledBackTitle(detail);
  const name = capitalize(stateWords({ state: status.state }));
  return status.state === "completed" && status.failed > 0 ? `${name}, with failures` : name;
}

/** The title of the browser's tab: what has to be seen without opening it comes first. */
export function tabTitleOf(detail: Shown): string {
  const { status } = detail;
  if (status.image === null) return "Rollout";
  return `${tabState(detail)} · ${shortImage(status.image)}`;
}

function tabState(detail: Shown): string {
  const { status } = detail;
  const { state, succeeded, failed, total, waiting_for: wait } = status;
  const down = downOf(status);
  if (down !== undefined && (state === "paused" || state === "cancelled")) {
    return `${capitalize(stateWords({ state, outcome: status.outcome }))}: ${down.brief}`;
  }
  if (state === "paused") return `Paused${pausedWhy(detail)}`;
  if (state !== "in_progress") return titleOf(detail);
  const bad = failed === 0 ? "" : `, ${count(failed)} failed`;
  if (wait === "approval" || wait === "window") return `Waits for ${nameOfWait[wait]}${bad}`;
  return `${percent(succeeded + failed, total)}${bad}`;
}

const nameOfWait = { approval: "an approval", window: "a window" } as const;

function pausedWhere({ current_wave: wave }: Status): string {
  return wave === 0 ? "Paused before the first wave" : `Paused after wave ${wave}`;
}

/** Why it is paused, to be put after where or that it is. */
function pausedWhy({ status, messages }: Pick<Shown, "status" | "messages">): string {
  const { cause, failed } = status;
  if (cause === "operator") return pausedBy(messages);
  const words = {
    sentinels: `: ${sentinels(failed)} failed${downAfter(status)}`,
    budget: `: too many failed, ${count(failed)} of ${count(status.total)}${downAfter(status)}`,
    gate: `: ${gateWords(status)}`,
    comparison: isWorse(status)
      ? ": the new image is worse than the old one"
      : ": nothing is proven of the new image",
    fleet: ": the fleet does not answer as it should",
    drift: ": sentinels have left the image",
    version: ": the program was replaced by another version",
    run: ": its run has ended early",
  } as const;
  return cause === undefined ? "" : words[cause];
}

function downAfter(status: Status): string {
  const { down = 0 } = downOf(status) ?? {};
  if (down === 0) return "";
  const serve = `${down === 1 ? "serves" : "serve"} nothing`;
  return down === status.failed ? ` and ${serve}` : `, ${count(down)} of them ${serve}`;
}

function isWorse({ gate }: Status): boolean {
  return gate?.gates.some(({ comparison }) => comparison?.verdict === "worse") === true;
}

function pausedBy(messages: Shown["messages"]): string {
  const by = messages.find(({ event }) => event === "paused")?.actor;
  return by == null ? " by an operator" : ` by ${callerWords(by)}`;
}

function gateWords({ gate }: Status): string {
  const failed = gate?.checks.filter(({ failed_run: run }) => run !== null) ?? [];
  const [first] = failed;
  const other = gate?.gates.find(({ verdict }) => verdict === "fail");
  if (first === undefined && other !== undefined) return `the gate ${other.name} failed`;
  if (first === undefined) return "the gate did not open";
  return failed.length === 1
    ? `the check ${first.check} failed`
    : `${count(failed.length)} checks failed`;
}

function rolledBackTitle({ waves }: Pick<Shown, "waves">): string {
  const left = waves.reduce((sum, wave) => sum + wave.not_reverted, 0);
  return left === 0 ? "Rolled back" : `Rolled back, except for ${sentinels(left)}`;
}

function runningTitle(status: Status): string {
  const { waiting_for: what, current_wave: current, total_waves: total } = status;
  const wave = `wave ${current} of ${total}`;
  if (what === "window") {
    return current === 0 ? "Waiting to start the first wave" : `Waiting for a window after ${wave}`;
  }
  if (what === "approval") return `Waiting for an approval of ${awaitedWave(status)}`;
  const name = capitalize(stateWords({ state: status.state }));
  if (total === 0) return `${name}: no wave started yet`;
  if (what === "soak") return `Soaking after ${wave}`;
  return status.gate === undefined ? `${name}: ${wave}` : `Waiting at the gate after ${wave}`;
}
