/** The readers as a Restate service, called through the gateway like the rest. */
import { type Context, implement } from "@restatedev/restate-sdk";
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { noSuch } from "#kernel/text.ts";
import type { Definitions, ReadDefinitions } from "#monitor/contract.ts";
import type { CheckReplayRequest } from "#monitor/replay-contract.ts";
import {
  type CheckChartRequest,
  type CheckProblemCode,
  type CheckSummary,
  type CheckSummaryRequest,
  checkReads,
} from "./contract.ts";
import type { ResultReader } from "./read.ts";
import { replayCheck } from "./replay.ts";
import { sums } from "./rollups.ts";
import type { FindChecks, ViewChecks } from "./view.ts";

type Parts = {
  readDefinitions: ReadDefinitions;
  viewChecks: ViewChecks;
  findChecks: FindChecks;
  reader: ResultReader;
  database: Database;
  failedAtPercent: number;
  nowMs: () => number;
};

/** Summing up a month of results is slow; the gateway's own timeout is only slightly longer. */
const readOf = (name: string, what: string, limitMs = 25_000) =>
  databaseRead(name, { limitMs, problem: `${what} cannot be read` });

const reads = {
  list: readOf("list-checks", "the checks", 5_000),
  history: readOf("read-history", "the results"),
  chart: readOf("read-chart", "the results"),
  summary: readOf("sum-up-check", "the results"),
  episodes: readOf("read-episodes", "the alerts"),
  replay: readOf("replay-check", "the results"),
};

export function createCheckReads(parts: Parts) {
  const { readDefinitions, viewChecks, findChecks, reader, nowMs } = parts;
  /** Looks for the check within the read, whose time limit holds for both. */
  const ofKnown =
    <Request extends { check?: string | undefined }, Answer>(
      settings: ReturnType<typeof readOf>,
      read: (request: Request, signal: AbortSignal) => Promise<Answer>,
    ) =>
    (ctx: Context, request: Request) =>
      readNow(ctx, settings, async (signal) => {
        if (request.check !== undefined) requireKnown(await readDefinitions(), request.check);
        return read(request, signal);
      });
  return implement(checkReads, {
    handlers: {
      List: (ctx, asked) => {
        const isAll = Object.keys(asked).length === 0;
        return readNow(ctx, reads.list, () => (isAll ? viewChecks() : findChecks(asked)));
      },
      History: ofKnown(reads.history, reader.history),
      Chart: ofKnown(reads.chart, (request: CheckChartRequest) => reader.chart(request, nowMs())),
      Summary: ofKnown(reads.summary, (request: CheckSummaryRequest) => sumUp(parts, request)),
      Episodes: ofKnown(reads.episodes, reader.episodes),
      Replay: ofKnown(reads.replay, (request: CheckReplayRequest, signal) =>
        replayCheck(parts, request, signal),
      ),
    },
    options: { ...unkept, asTerminalError },
  });
}

/** Throws 404 `unknown_check`. */
function requireKnown({ apiChecks, heartbeats }: Definitions, id: string): void {
  const rows = [...apiChecks, ...heartbeats];
  if (rows.some((check) => check.id === id)) return;
  throw new ProblemError<CheckProblemCode>({
    status: 404,
    code: "unknown_check",
    detail: noSuch("check", id, rows),
  });
}

type SumParts = Pick<Parts, "database" | "failedAtPercent" | "nowMs">;

const hourMs = 3_600_000;

/** Sums up the single results of a check over a span. Covers the results within their retention; without any there is no total. */
async function sumUp(
  { database, failedAtPercent, nowMs }: SumParts,
  { check, hours }: CheckSummaryRequest,
): Promise<CheckSummary> {
  const from = new Date(nowMs() - hours * hourMs);
  const [sums, missed] = await Promise.all([
    database.query<SumRow>(selectSums, [check, from, failedAtPercent]),
    database.query(selectMissed, [check, from]),
  ]);
  const total = sums.rows.find(({ location }) => location === null);
  const byLocation = sums.rows.filter((row) => row.location !== null);
  return {
    check,
    since: from.toISOString(),
    first_at: total?.first_at?.toISOString() ?? null,
    runs: total?.runs ?? 0,
    failed_runs: total?.failed_runs ?? 0,
    missed_ticks: missed.rows[0].ticks,
    total: total === undefined || total.results === 0 ? null : toSum(total),
    locations: byLocation.map((row) => ({ location: row.location ?? "", ...toSum(row) })),
  };
}

type Sum = NonNullable<CheckSummary["total"]>;

type SumRow = Omit<Sum, "p50_ms" | "p95_ms" | "p99_ms"> & {
  /** null: all locations together. */
  location: string | null;
  first_at: Date | null;
  runs: number;
  failed_runs: number;
  percentiles: [number, number, number];
};

function toSum({ location, first_at, runs, failed_runs, percentiles, ...sum }: SumRow): Sum {
  const [p50_ms, p95_ms, p99_ms] = percentiles;
  return { ...sum, p50_ms, p95_ms, p99_ms };
}

const selectSums = `
  SELECT location, min(scheduled_at) AS first_at, count(*)::integer AS results,
    ${sums}
  FROM (
    SELECT *,
      (count(*) FILTER (WHERE grade = 'failed') OVER run) > 0
        AND (count(*) FILTER (WHERE grade = 'failed') OVER run) * 100
          >= $3::integer * (count(*) OVER run) AS run_failed
    FROM check_results WHERE check_id = $1 AND scheduled_at >= $2
    WINDOW run AS (PARTITION BY scheduled_at)
  ) r
  GROUP BY GROUPING SETS ((location), ()) ORDER BY location`;

const selectMissed = `
  SELECT coalesce(sum(ticks), 0)::integer AS ticks FROM check_missed_ticks
  WHERE check_id = $1 AND to_at >= $2`;
