/** Changes before an alert, and how well each explains it. Times are Unix ms. */
import { z } from "zod";
import { toIso } from "#kernel/time.ts";

const changeKinds = [
  "rollout",
  "rollback",
  "definitions",
  "routes",
  "keys",
  "settings",
  "restart",
] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** A change that may have caused an alert. */
export const Suspect = z.object({
  /** The same in every answer, for example `<rollout>:wave-2`. */
  id: z.string(),
  kind: z.enum(changeKinds),
  atMs: z.int(),
  /** The operator or the part that made it; null: not known, or nobody's business here. */
  who: z.string().nullable(),
  /** The probability that it is the cause, from 0 to 1, by `rank.ts`. */
  score: z.number(),
  /** The change, when it was, and how it fits, in one sentence without secrets. */
  text: z.string(),
});
export type Suspect = z.infer<typeof Suspect>;

/** A suspect as answers and webhooks have it. */
export const SuspectView = Suspect.omit({ atMs: true }).extend({ at: z.iso.datetime() });
export type SuspectView = z.infer<typeof SuspectView>;

export function viewSuspect({ atMs, ...suspect }: Suspect): SuspectView {
  return { ...suspect, at: toIso(atMs) };
}

/** The kinds of things that a change touches, and that an alert is about. */
export type Dimension = "region" | "check" | "key" | "part" | "delivery";

/** A change, and where it takes effect. */
export type Change = Pick<Suspect, "id" | "kind" | "atMs" | "who"> & {
  /** Until then it takes effect; absent: at once. */
  untilMs?: number;
  /** The start of a sentence: `wave 2 of the rollout of gw:2 replaced 4 of 5 sentinels in eu`. */
  summary: string;
  reach: Reach;
};

/** The units that a change touched, by name with their number, and how many there are of each and in all. */
export type Reach = {
  of: Dimension;
  touched: Readonly<Record<string, number>>;
  /** Units that are not in it count once. */
  sizes?: Readonly<Record<string, number>>;
  total: number;
};

/** The alert that changes are ranked for. */
export type BlamedAlert = {
  /** The last time at which what failed is known to have been good. */
  goodAtMs: number;
  /** When it was first found failed: later changes are no cause. The alert may open later. */
  failedAtMs: number;
  place: Place;
};

export type Place = {
  /** Texts in which regions may be named: ids, addresses, locations. */
  names: readonly string[];
  /** Only regions of this fleet count. Absent: of any. */
  fleet?: string;
} & Partial<Record<Exclude<Dimension, "region">, readonly string[]>>;

/** Lines for the message of a paused rollout: what else changed before. Empty: nothing, not in time, or no pause. */
export type ExplainPause = (rollout: Transition) => Promise<string[]>;

type Transition = { id: string; fleet: string; event: string };

/** Returns the lines of a notice, with those that explain it. */
export type ReadExplained = (notice: {
  id: string;
  lines: string[];
  rollout?: Transition | undefined;
}) => Promise<string[]>;

/** Ranks what is known to have changed. Pure. */
export type Blame = (alert: BlamedAlert) => Suspect[];
