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
  type CheckSummaryRequest,
  checkReads,
} from "./contract.ts";
import type { ResultReader } from "./read.ts";
import { replayCheck } from "./replay.ts";
import { sumUp } from "./summary.ts";
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
