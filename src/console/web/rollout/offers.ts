/** Selects the operations that the page of a rollout offers, and the safe one of them. Pure. */
import type { LiveRollout } from "#console/contract.ts";
import type { Operation } from "#rollout/contract.ts";
import { isSkippable } from "./questions.ts";

/** `main`: the safe one; at most one is. `grave`: it changes sentinels, and nothing asks for it. */
export type Offer = { operation: Operation; tone: "main" | "grave" | "" };

/** The order in which operations are shown, the safe one before all of them. */
const order: readonly Operation[] = ["Resume", "RollbackAll", "Skip", "Pause", "Cancel", "Rollout"];

export function offersOf(rollout: LiveRollout): Offer[] {
  const main = mainOf(rollout);
  const offered = order.filter((operation) => isOffered(operation, rollout));
  const offers = offered.map((operation) => ({ operation, tone: toneOf(operation, main) }));
  return offers.toSorted((a, b) => Number(b.tone === "main") - Number(a.tone === "main"));
}

/** True if the operation is legal in this state, and has something to do. */
function isOffered(operation: Operation, { legal, status, previous_images }: LiveRollout): boolean {
  if (!legal.includes(operation)) return false;
  if (operation === "RollbackAll") {
    return status.state === "paused" || previous_images.length > 0 || status.failed > 0;
  }
  return operation !== "Skip" || isSkippable(status);
}

function toneOf(operation: Operation, main: Operation | undefined): Offer["tone"] {
  if (operation === main) return "main";
  return operation === "RollbackAll" ? "grave" : "";
}

/** After a pause because of the image it is safe to go back; else going on is as safe, and what is wanted. */
function mainOf({ status }: LiveRollout): Operation | undefined {
  if (status.state === "in_progress") return undefined;
  if (status.state !== "paused") return "Rollout";
  return isOfImage(status) ? "RollbackAll" : "Resume";
}

function isOfImage({ cause, failed, gate }: LiveRollout["status"]): boolean {
  if (cause === "gate" || cause === "comparison") {
    const hasFailed = gate?.checks.some(({ failed_run: run }) => run !== null) ?? true;
    return hasFailed || gate?.gates.some(({ verdict }) => verdict === "fail") === true;
  }
  if (cause === "sentinels" || cause === "budget") return true;
  return cause === undefined && failed > 0;
}
