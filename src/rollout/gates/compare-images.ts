/** Compares the images of a rollout now: reads its sentinels and what they have counted, and asks `evaluate`. */
import type { Labels } from "#fleet/contract.ts";
import type { Database } from "#kernel/database.ts";
import { toIso } from "#kernel/time.ts";
import { selectorOf } from "#rollout/choice/leave-out.ts";
import type { History, Ledger, Readings, Verdict } from "#rollout/comparison/contract.ts";
import { baseMinutes, pastMinutes } from "#rollout/comparison/defaults.ts";
import { evaluate } from "#rollout/comparison/evaluate.ts";
import type { Comparison } from "./comparison-contract.ts";

/** Times are Unix ms. `looks`: as the last comparison of this wave had them. */
export type WaveCompared = {
  startedMs: number;
  /** The end of the wave: its last update. */
  settledMs: number;
  minutes: number;
  looks: Comparison["looks"];
  ledger?: Ledger;
  canaryLabels?: Labels;
};

type WaveOfRollout = { rolloutId: string; fleet: string; wave: number; waves: number };

type Compared = { comparison: Comparison; reason: string; ledger: Ledger };

/** Throws if the database does not answer. */
export type CompareImages = (of: WaveOfRollout, wave: WaveCompared) => Promise<Compared>;

/** A range of minutes without its end, Unix ms. */
type Span = { from: number; to: number };

/** Reads the counts of sentinels, one span after the other; `first` is the oldest minute that is stored. */
export type ReadCounts = (
  fleet: string,
  wanted: { ids: readonly string[]; spans: readonly Span[]; boundAt: number },
) => Promise<{ sentinels: Readings[]; first: number | undefined }>;

type Parts = {
  database: Pick<Database, "query">;
  readCounts: ReadCounts;
  nowMs: () => number;
};

const minuteMs = 60_000;

const floorMinute = (ms: number) => Math.floor(ms / minuteMs) * minuteMs;

export function createCompareImages({ database, readCounts, nowMs }: Parts): CompareImages {
  return async ({ rolloutId, fleet, wave, waves }, compared) => {
    const now = floorMinute(nowMs());
    const { rows } = await database.query<Member>(selectMembers, [rolloutId]);
    const { members, isChosen } = chooseMembers(rows, wave, compared.canaryLabels);
    const start = floorMinute(compared.startedMs);
    const settled = floorMinute(compared.settledMs);
    const before = minutesBefore(members);
    const counts = await readCounts(fleet, {
      ids: members.map(({ id }) => id),
      spans: [
        { from: start - before * minuteMs, to: start },
        { from: settled, to: Math.max(settled, now) },
      ],
      boundAt: start - baseMinutes * minuteMs,
    });
    const past = counts.first === undefined ? 0 : Math.max(0, (start - counts.first) / minuteMs);
    const sentinels = counts.sentinels.map((one) => withoutFirst(one, before - past));
    const history = toHistory({ members, counts: sentinels, past, wave, waves }, compared);
    const verdict = evaluate(history, now);
    return describe(isChosen ? ofChosen(verdict, compared.ledger) : verdict, {
      ...{ history, past, now, isChosen },
      looks: compared.looks,
    });
  };
}

/** `wave`: from 1. `outcome`: null while there is none. */
type Member = {
  id: string;
  wave: number;
  region: string;
  labels: Labels;
  outcome: string | null;
};

const selectMembers = `
  SELECT sentinel_id AS id, wave, coalesce(region, '') AS region, coalesce(labels, '{}') AS labels, outcome
  FROM rollout_sentinels WHERE rollout_id = $1 AND wave > 0 ORDER BY sentinel_id`;

type ComparedMember = Pick<Member, "id" | "region"> & { isNew: boolean };

/**
 * The sentinels that are compared. Canaries are left out, since they were chosen and not drawn, unless the wave has no
 * others; so is one that has failed, or is in no wave: it runs neither image by chance.
 */
export function chooseMembers(
  rows: readonly Member[],
  wave: number,
  canaryLabels: Labels | undefined,
): { members: ComparedMember[]; isChosen: boolean } {
  const isCanary = canaryLabels === undefined ? () => false : selectorOf({ labels: canaryLabels });
  const known = rows.flatMap((row) => {
    const isNew = row.wave <= wave;
    const runsIt = row.outcome === null || (isNew && row.outcome === "succeeded");
    const { id, region, labels } = row;
    const one = { id, region, labels, image: "", running_image: "", health: "healthy" as const };
    return runsIt ? [{ id, region, isNew, isCanary: isCanary(one) }] : [];
  });
  const drawn = known.filter((one) => !one.isCanary);
  const isChosen = known.some(({ isNew }) => isNew) && !drawn.some(({ isNew }) => isNew);
  return { members: isChosen ? known : drawn, isChosen };
}

/** A large fleet has enough draws without earlier hours, and four of them take it a second. */
function minutesBefore(members: readonly ComparedMember[]): number {
  const drawn = members.filter(({ isNew }) => isNew).length;
  return members.length > 2_000 && drawn >= 3 ? baseMinutes : pastMinutes;
}

function withoutFirst({ requests, errors, slow, restarts }: Readings, minutes: number): Readings {
  const cut = (series: Float64Array) => series.subarray(minutes);
  return { requests: cut(requests), errors: cut(errors), slow: cut(slow), restarts: cut(restarts) };
}

type Read = {
  members: readonly ComparedMember[];
  counts: readonly Readings[];
  /** The minutes before the rollout that are stored. */
  past: number;
  wave: number;
  waves: number;
};

/**
 * The minutes before the rollout, and right after them those since the wave's end: what lies between is never compared.
 * Earlier waves have their evidence in the ledger.
 */
function toHistory(
  { members, counts, past, wave, waves }: Read,
  { settledMs, minutes, ledger }: WaveCompared,
): History {
  const settled = floorMinute(settledMs);
  return {
    first_minute: settled - past * minuteMs,
    ...(ledger !== undefined && { ledger }),
    rollout: {
      started_at: settled,
      soak_minutes: minutes,
      waves: Array.from({ length: waves - 1 }, (_, i) => ({
        settled_at: i === wave - 1 ? settledMs : null,
      })),
    },
    sentinels: members.map(({ id, region, isNew }, i) => {
      const readings = counts[i] as Readings;
      return { id, region, updated_at: isNew ? settledMs : null, ...readings };
    }),
  };
}

/** Sentinels that were chosen prove gross failure and a fix; their evidence is not that of a draw. */
function ofChosen(verdict: Verdict, before: Ledger | undefined): Verdict {
  const total = before?.total ?? 0;
  const ledger = { ...verdict.ledger, total };
  const evidence = { ...verdict.evidence, total };
  const isShown = ledger.guard !== null || verdict.verdict === "better";
  const why = "the new sentinels were chosen by canary_labels, not drawn";
  const reason = isShown ? verdict.reason : `${why}: only gross failure can be found`;
  const found = isShown ? verdict.verdict : "inconclusive";
  return { verdict: found, may_go_early: false, reason, ledger, evidence };
}

type Described = {
  history: History;
  past: number;
  now: number;
  looks: Comparison["looks"];
  isChosen: boolean;
};

function describe({ ledger, reason, evidence, ...verdict }: Verdict, of: Described): Compared {
  const { history, past, now, looks, isChosen } = of;
  const { total } = evidence;
  const isNews = looks.at(-1)?.total !== total;
  const comparison = {
    ...verdict,
    ...evidence,
    ...(isChosen && { is_chosen: true }),
    points: toPoints(history, past),
    looks: isNews ? [...looks, { at: toIso(now), total }].slice(-mostPoints) : looks,
  };
  return { comparison, reason, ledger };
}

const mostPoints = 60;

type Point = Comparison["points"][number];

/** Both sides since the wave's end. */
function toPoints({ sentinels, first_minute: first }: History, past: number): Point[] {
  const length =
    sentinels.reduce((most, { requests }) => Math.max(most, requests.length), 0) - past;
  const stride = Math.max(1, Math.ceil(length / mostPoints));
  const points = Array.from({ length: Math.max(0, Math.ceil(length / stride)) }, (_, n): Point => {
    const at = toIso(first + (past + n * stride) * minuteMs);
    return { at, new: [0, 0, 0], old: [0, 0, 0] };
  });
  for (const one of sentinels) {
    const side = one.updated_at === null ? "old" : "new";
    for (const [n, point] of points.entries()) {
      const from = past + n * stride;
      addMinutes(point[side], one, { from, to: from + stride });
    }
  }
  return points;
}

/** Adds minutes to a side, but for those that were not reported. */
function addMinutes(side: Point["new"], one: Readings, { from, to }: Span): void {
  const end = Math.min(to, one.requests.length);
  for (let minute = from; minute < end; minute += 1) {
    side[0] += one.requests[minute] || 0;
    side[1] += one.errors[minute] || 0;
    side[2] += one.slow[minute] || 0;
  }
}
