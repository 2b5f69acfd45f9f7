/** Finds sentinels that somebody has changed on purpose, and holds them: the reconciler must not work against operators. Pure. */
import { createHash } from "node:crypto";
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

/** A fleet may call a sentinel `constructor`. */
function imageOf(heldOnce: HeldOnce, id: string): string | undefined {
  return Object.hasOwn(heldOnce, id) ? heldOnce[id] : undefined;
}

/** Returns the sentinels that had their desired image, run another one now, and were not held for it before. */
export function findChanged(drifts: readonly HeldDrift[], heldOnce: HeldOnce): HeldDrift[] {
  return drifts.filter(
    ({ id, running, why, isConfirmed, isHeld, isUnderWay }) =>
      why === "drifted" &&
      running !== "" &&
      isConfirmed &&
      !isHeld &&
      isUnderWay !== true &&
      imageOf(heldOnce, id) !== running,
  );
}

/** Returns those that run an image which no rollout has brought or replaced: such a sentinel was neither put back nor replaced. */
export function findByHand(changed: readonly HeldDrift[], images: readonly string[]): HeldDrift[] {
  const isKnown = (running: string) =>
    images.some((image) => image !== "" && compareImages(image, running) !== "other");
  return changed.filter(({ running }) => !isKnown(running));
}

/** Returns the pin that holds the first of them; undefined: there is none. A check that was killed makes the same one again. */
export function holdOf(byHand: readonly HeldDrift[], fleet: string): Pin | undefined {
  const [first] = byHand;
  if (first === undefined) return undefined;
  const { running: image } = first;
  const alike = byHand.filter(({ running }) => running === image).slice(0, mostAtOnce);
  const ids = alike.map(({ id }) => id);
  const changes = JSON.stringify([fleet, image, alike.map(({ id, sinceMs }) => [id, sinceMs])]);
  const digest = createHash("sha256").update(changes).digest("hex");
  const reason = `changed by hand: no rollout has brought ${cleanText(image, longestImage)}`;
  return { id: `hold-${digest.slice(0, 8)}`, fleet, ids, reason };
}

/**
 * Adds those that are held, and drops those that do not run the image any more. `holds`: the reconciler's own; `untold`:
 * those of them that are new, perhaps of a check that was killed before it notified anybody.
 */
export function recordHolds(
  heldOnce: HeldOnce,
  { drifts, holds }: { drifts: readonly HeldDrift[]; holds: readonly Pin[] },
): { heldOnce: HeldOnce; untold: Pin[] } {
  const held = new Set(holds.flatMap(({ ids = [] }) => ids));
  const known = drifts.filter(
    ({ id, running }) => held.has(id) || imageOf(heldOnce, id) === running,
  );
  const fresh = new Set(known.map(({ id }) => id).filter((id) => !Object.hasOwn(heldOnce, id)));
  return {
    heldOnce: Object.fromEntries(known.map(({ id, running }) => [id, running])),
    untold: holds.filter(({ ids = [] }) => ids.some((id) => fresh.has(id))),
  };
}
