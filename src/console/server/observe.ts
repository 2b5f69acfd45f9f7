/** Reads the rollout and its fleet once; a part that cannot be read is reported and left unchanged. */
import type { FleetColumns } from "#console/contract.ts";
import { type Counts, countsOf } from "#console/counts.ts";
import type { SentRollout, WholeState } from "#console/events.ts";
import { inTime } from "#kernel/async.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Operation, RolloutStateName, RolloutStatus } from "#rollout/contract.ts";
import type { RecordedRollout } from "#rollout/history/contract.ts";
import { joinLive, toColumns } from "./columns.ts";
import {
  hasEarlyWait,
  isSameStep,
  type Moment,
  membersAt,
  type ReadMoment,
  statusAt,
  withKnownFleet,
  withoutEarlyWait,
} from "./moment.ts";

export type ObserveParts = {
  name: string;
  readStatus: (signal: AbortSignal) => Promise<RolloutStatus>;
  readMoment: ReadMoment;
  legalOperations: (state: RolloutStateName) => Operation[];
  /** The time of a clock that only ever goes forward. */
  nowMs: () => number;
};

const statusTimeoutMs = 4_000;
/** Together shorter than the silence after which a page takes its connection for lost. */
const momentTimeoutMs = 6_000;
/** After it Postgres ends a read that nobody waits for any more. */
const readLimitMs = 5_000;
/** The longest time for which history's words hold while the rollout itself is a step further. */
const mayLagMs = 5_000;
/** Longer than from one poll to the next while somebody looks, even if both sides hang. */
const forgottenAfterMs = 15_000;

/** Returns a function that reads everything once; `known` is its previous result. */
export function createObserve(parts: ObserveParts) {
  const throughput = createThroughput();
  const isTooLate = createLag(parts.nowMs);
  const readMoment = oneAtATime(parts.readMoment);
  return async (known: WholeState): Promise<WholeState> => {
    const signal = AbortSignal.timeout(statusTimeoutMs);
    const status = await settle(() => parts.readStatus(signal), statusTimeoutMs);
    const live = "value" in status ? status.value : known.rollout?.status;
    const trouble = troubleOf("Restate", status);
    if (live === undefined) return { ...known, trouble };
    const asked = { rolloutId: live.rollout_id, fleet: parts.name, limitMs: readLimitMs };
    const moment = await settle(() => readMoment(asked), momentTimeoutMs);
    const legal = ({ state }: RolloutStatus) => parts.legalOperations(state);
    if ("detail" in moment) {
      trouble.push({ part: "history", detail: moment.detail + agedWords(known, status) });
      return { ...keep(known, live, legal(live)), trouble };
    }
    const isLate = "value" in status && isTooLate(isBehind(live, moment.value));
    if (isLate) trouble.push({ part: "history", detail: lateWords });
    const { recorded, fleet, counts } = picture(live, moment.value, { isLate });
    const perSecond = throughput.perSecond(recorded.status, counts, parts.nowMs());
    const extras = { legal: legal(recorded.status), perSecond };
    return { rollout: toSent(recorded, extras), fleet, trouble };
  };
}

const olderWords = "the numbers are older than the rollout's state";
const lateWords = `it is behind the rollout: ${olderWords}`;

type ReadResult<Value> = { value: Value } | { detail: string };

async function settle<Value>(
  read: () => Promise<Value>,
  limitMs: number,
): Promise<ReadResult<Value>> {
  const ask = (): Promise<ReadResult<Value>> =>
    read().then(
      (value) => ({ value }),
      (error: unknown) => ({ detail: describe(error) }),
    );
  return inTime(ask, { limitMs, otherwise: { detail: notInTime } });
}

/** Fails while the read before is not over, although its answer is not waited for any more. */
function oneAtATime(read: ReadMoment): ReadMoment {
  let isReading = false;
  return async (asked) => {
    if (isReading) throw new DOMException("the read before is not over", "TimeoutError");
    isReading = true;
    try {
      return await read(asked);
    } finally {
      isReading = false;
    }
  };
}

function troubleOf(part: string, result: ReadResult<unknown>): WholeState["trouble"] {
  return "detail" in result ? [{ part, detail: result.detail }] : [];
}

/** True if history lacks what the rollout has done: its step, or results of a wave that is over. */
function isBehind(live: RolloutStatus, { recorded, members }: Moment): boolean {
  if (live.rollout_id === null) return false;
  if (recorded === undefined || !isSameStep(live, recorded.status)) return true;
  const count = (wanted: string) => members.filter(({ outcome }) => outcome === wanted).length;
  return hasEarlyWait(live, { succeeded: count("succeeded"), failed: count("failed") });
}

/** Everything of one moment. `isLate`: not to be waited for any more, so that operators see what they have done. */
function picture(live: RolloutStatus, moment: Moment, { isLate }: { isLate: boolean }) {
  const { recorded = { ...nothingRecorded, status: live } } = moment;
  const known = { members: moment.members, waves: recorded.waves };
  const status = isLate ? live : withKnownFleet(statusAt(live, recorded.status), known);
  const fleet = toColumns(joinLive(moment.fleet, membersAt(status, moment.members)), status);
  const counts = countsOf(cellsOf(fleet), { total: status.total, waves: recorded.waves });
  const shown = isLate ? status : withoutEarlyWait(status, counts);
  return { recorded: { ...recorded, status: shown }, fleet, counts };
}

function cellsOf({ marks, waves }: FleetColumns) {
  return { marks, waves };
}

type Extras = { legal: Operation[]; perSecond: number };

/** Leaves out what changes with every result and nobody needs yet: each change is sent to every viewer. */
function toSent(
  { status, previous_images, ...recorded }: RecordedRollout,
  { legal, perSecond }: Extras,
): SentRollout {
  return {
    ...recorded,
    status: { ...status, failed_sentinels: [] },
    previous_images: legal.includes("RollbackAll") ? previous_images : [],
    legal,
    per_second: perSecond,
  };
}

/** Returns whether history has been behind for too long. What was so before a long pause does not count. */
function createLag(nowMs: () => number) {
  let sinceMs: number | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return (isBehind: boolean): boolean => {
    if (!isBehind || nowMs() - askedAtMs > forgottenAfterMs) sinceMs = undefined;
    askedAtMs = nowMs();
    if (isBehind) sinceMs ??= nowMs();
    return sinceMs !== undefined && nowMs() - sinceMs > mayLagMs;
  };
}

const nothingRecorded: Omit<RecordedRollout, "status"> = {
  requested_image: null,
  started_by: null,
  ended_at: null,
  wave_percentages: [],
  waves: [],
  messages: [],
  previous_images: [],
};

/** While history cannot be read, what it said of this rollout stays. */
function keep(
  { rollout, fleet }: WholeState,
  status: RolloutStatus,
  legal: Operation[],
): Omit<WholeState, "trouble"> {
  const isSame = rollout?.status.rollout_id === status.rollout_id;
  const recorded = { ...nothingRecorded, ...(isSame && rollout) };
  return {
    rollout: { ...recorded, status: { ...status, failed_sentinels: [] }, legal, per_second: 0 },
    // The marks of another rollout would be counted as this one's.
    fleet: isSame ? fleet : null,
  };
}

/** The correction when the sentinels that stay on the page are not those that the rollout itself counts by now. */
function agedWords({ rollout, fleet }: WholeState, live: ReadResult<RolloutStatus>): string {
  if (rollout === null || fleet === null || !("value" in live)) return "";
  const { status, waves } = rollout;
  if (status.rollout_id !== live.value.rollout_id) return "";
  const counts = countsOf(cellsOf(fleet), { total: status.total, waves });
  const { succeeded, failed, in_flight } = live.value;
  const isSame = counts.succeeded + counts.not_reverted === succeeded && counts.failed === failed;
  return isSame && counts.deploying === in_flight ? "" : `, and ${olderWords}`;
}

const notInTime = "it did not answer in time";

function describe(error: unknown): string {
  if (error instanceof ProblemError) return error.message;
  if (error instanceof Error && (error.name === "TimeoutError" || isCanceled(error)))
    return notInTime;
  return "it cannot be reached";
}

/** True if Postgres has ended the read at its limit. */
function isCanceled(error: Error & { code?: unknown }): boolean {
  return error.code === "57014";
}

type Sample = { atMs: number; done: number };

/** The window of the rate: a shorter one would jump with every batch, a longer one would lag behind. */
const windowMs = 20_000;

/** Counts the results per second of the rollout, or of its rollback. */
function createThroughput() {
  let subject = "";
  let samples: Sample[] = [];
  return {
    perSecond(
      { rollout_id, state }: Pick<RolloutStatus, "rollout_id" | "state">,
      counts: Counts,
      nowMs: number,
    ): number {
      if (state !== "in_progress" && state !== "rolling_back") {
        samples = [];
        return 0;
      }
      if (subject !== `${rollout_id} ${state}`) samples = [];
      subject = `${rollout_id} ${state}`;
      const { done: took, failed } = counts;
      const done = state === "in_progress" ? took + failed : counts.reverted + counts.not_reverted;
      samples = [...samples, { atMs: nowMs, done }].filter(({ atMs }) => nowMs - atMs <= windowMs);
      return rateOf(samples);
    },
  };
}

function rateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs === first.atMs) return 0;
  const perSecond = ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  return Math.max(0, Math.round(perSecond * 10) / 10);
}
