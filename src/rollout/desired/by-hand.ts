/** Finds sentinels that somebody has changed on purpose, and holds them: the reconciler must not work against operators. Pure. */
import { compareImages } from "#kernel/image-reference.ts";
import { cleanText } from "#kernel/text.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import type { HeldDrift } from "./converge.ts";

/** By sentinel: the image for which it was held once. Whoever releases it wants it brought back. */
export type HeldOnce = Record<string, string>;

/** A hold names so many sentinels at most; the next one has the others. */
const mostAtOnce = 100;

/** Characters, as in a request. */
const longestImage = 512;

/** Returns the sentinels that had their desired image, run another one now, and were not held for it before. */
export function findChanged(drifts: readonly HeldDrift[], heldOnce: HeldOnce): HeldDrift[] {
  return drifts.filter(
    ({ id, running, why, isConfirmed, isHeld, isUnderWay }) =>
      why === "drifted" &&
      running !== "" &&
      isConfirmed &&
      !isHeld &&
      isUnderWay !== true &&
      heldOnce[id] !== running,
  );
}

/** Returns those that run an image which no rollout has brought or replaced: such a sentinel was neither put back nor replaced. */
export function findByHand(changed: readonly HeldDrift[], images: readonly string[]): HeldDrift[] {
  const isKnown = (running: string) =>
    images.some((image) => image !== "" && compareImages(image, running) !== "other");
  return changed.filter(({ running }) => !isKnown(running));
}

/** Returns the pin, but for its id, that holds the first of them; undefined: there is none. */
export function holdOf(byHand: readonly HeldDrift[], fleet: string): Omit<Pin, "id"> | undefined {
  const [first] = byHand;
  if (first === undefined) return undefined;
  const alike = byHand.filter(({ running }) => running === first.running);
  const ids = alike.slice(0, mostAtOnce).map(({ id }) => id);
  const reason = `changed by hand: no rollout has brought ${cleanText(first.running, longestImage)}`;
  return { fleet, ids, reason };
}

/** Adds those that are held now, and drops those that do not run the image any more. */
export function recordHeld(
  heldOnce: HeldOnce,
  { drifts, ids }: { drifts: readonly HeldDrift[]; ids: readonly string[] },
): HeldOnce {
  const held = new Set(ids);
  return Object.fromEntries(
    drifts.flatMap(({ id, running }) =>
      held.has(id) || heldOnce[id] === running ? [[id, running]] : [],
    ),
  );
}
