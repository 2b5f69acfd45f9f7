/** A wave whose batches were killed has members without a result: nothing starts after it before a Resume. */
import { type Condition, start } from "./condition.ts";
import { unresolved } from "./next.ts";

export const evaluateResults: Condition = ({ head, wave, next }) => {
  const ended = wave === undefined ? undefined : head.waves[wave];
  if (next.kind === "deploy" || ended === undefined || unresolved(ended) === 0) return start;
  const reason = `${unresolved(ended)} deploys of the wave ended without a result; Resume tries them again`;
  return { action: "stop", cause: "run", reason, isOfImage: false };
};
