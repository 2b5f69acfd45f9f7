/** Reads the rollout and its fleet once; a part that cannot be read is reported and left unchanged. */
import { inTime } from "#kernel/in-time.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Operation, RolloutStateName, RolloutStatus } from "#rollout/contract.ts";
import type { RecordedRollout } from "#rollout/history/contract.ts";
import { countsOf, type RolloutCounts } from "./counts.ts";
import type { SentRollout, WholeState } from "./events.ts";
import { toColumns } from "./fleet-columns.ts";
import { joinLive } from "./fleet-rows.ts";
import {
  isSameStep,
  type Moment,
  type ReadMoment,
  statusAt,
  withKnownFleet,
  withoutEarlyWait,
} from "./moment.ts";
import { createThroughput } from "./throughput.ts";

export type ObserveParts = {
  /** The fleet that is observed. */
  name: string;
  readStatus: (signal: AbortSignal) => Promise<RolloutStatus>;
  readMoment: ReadMoment;
  legalOperations: (state: RolloutStateName) => Operation[];
};

const statusTimeoutMs = 4_000;
/** Together shorter than the silence after which a page takes its connection for lost. */
const momentTimeoutMs = 6_000;
/** For so long history's words hold while the rollout itself is a step further. */
const mayLagMs = 5_000;

/** Returns a function that reads everything once; `known` is its previous result. */
export function createObserve(parts: ObserveParts) {
  const throughput = createThroughput();
  const isTooLate = createLag();
  return async (known: WholeState): Promise<WholeState> => {
    const trouble: WholeState["trouble"] = [];
    const note = (part: string) => (error: unknown) => {
      trouble.push({ part, detail: describe(error) });
      return undefined;
    };
    const signal = AbortSignal.timeout(statusTimeoutMs);
    const live = (await parts.readStatus(signal).catch(note("Restate"))) ?? known.rollout?.status;
    if (live === undefined) return { ...known, trouble };
    const asked = { rolloutId: live.rollout_id, fleet: parts.name };
    const read = () => parts.readMoment(asked).catch(note("history"));
    const moment = await inTime(read, { limitMs: momentTimeoutMs, otherwise: undefined });
    if (moment === undefined) {
      if (!trouble.some(({ part }) => part === "history")) note("history")(lateError);
      const rollout = { ...keep(known, live), legal: legalIn(parts, live), per_second: 0 };
      return { rollout, fleet: known.fleet, trouble };
    }
    const isLate = isTooLate(live, moment);
    if (isLate) trouble.push({ part: "history", detail: lateWords });
    const { recorded, fleet, counts } = picture(live, moment, { isLate });
    const perSecond = throughput.perSecond(recorded.status, counts, Date.now());
    const legal = legalIn(parts, recorded.status);
    return { rollout: toSent(recorded, { counts, legal, perSecond }), fleet, trouble };
  };
}

const lateError = new DOMException("", "TimeoutError");
const lateWords = "it is behind the rollout: the numbers are older than its state";

function legalIn({ legalOperations }: ObserveParts, { state }: RolloutStatus): Operation[] {
  return legalOperations(state);
}

/** Everything of one moment. `isLate`: not to be waited for any more, so that operators see what they have done. */
function picture(live: RolloutStatus, moment: Moment, { isLate }: { isLate: boolean }) {
  const { recorded = { ...nothingRecorded, status: live } } = moment;
  const status = isLate ? live : withKnownFleet(statusAt(live, recorded.status), moment.members);
  const fleet = toColumns(joinLive(moment.fleet, moment.members), status);
  const counts = countsOf(fleet, { total: status.total, waves: recorded.waves });
  return { recorded: { ...recorded, status: withoutEarlyWait(status, counts) }, fleet, counts };
}

type Extras = { counts: RolloutCounts; legal: Operation[]; perSecond: number };

/** Leaves out what changes with every result and nobody needs yet: each change is sent to every viewer. */
function toSent(
  { status, waves, previous_images, ...recorded }: RecordedRollout,
  { counts, legal, perSecond }: Extras,
): SentRollout {
  return {
    ...recorded,
    status: { ...status, failed_sentinels: [] },
    waves: waves.map((wave, i) => {
      const { waiting = 1, deploying = 0 } = counts.waves[i] ?? {};
      return waiting + deploying === 0 ? wave : { ...wave, last_at: null };
    }),
    previous_images: legal.includes("RollbackAll") ? previous_images : [],
    legal,
    per_second: perSecond,
  };
}

/** Returns whether history has been a step behind for too long. */
function createLag() {
  let sinceMs: number | undefined;
  return (live: RolloutStatus, { recorded }: Moment): boolean => {
    const isBehind = live.rollout_id !== null && !(recorded && isSameStep(live, recorded.status));
    if (!isBehind) sinceMs = undefined;
    else sinceMs ??= performance.now();
    return sinceMs !== undefined && performance.now() - sinceMs > mayLagMs;
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

/** While history cannot be read, its parts keep their last known values. */
function keep({ rollout }: WholeState, status: RolloutStatus): RecordedRollout {
  const isSame = rollout?.status.rollout_id === status.rollout_id;
  return { ...nothingRecorded, ...(isSame && rollout), status };
}

function describe(error: unknown): string {
  if (error instanceof ProblemError) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return "it did not answer in time";
  return "it cannot be reached";
}
