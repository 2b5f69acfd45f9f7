/** The readers as a Restate service, called through the gateway like the rest. */
import { implement } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, toTerminalError } from "#kernel/terminal.ts";
import type { Definitions } from "#monitor/contract.ts";
import { type CheckProblemCode, checkReads } from "./contract.ts";
import type { ResultReader } from "./read.ts";
import type { ReplayCheck } from "./replay.ts";
import type { SumUp } from "./summary.ts";
import type { ViewChecks } from "./view.ts";

type Parts = {
  definitions: Definitions;
  viewChecks: ViewChecks;
  reader: ResultReader;
  sumUp: SumUp;
  replayCheck: ReplayCheck;
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
  const { definitions, viewChecks, reader, sumUp, replayCheck, nowMs } = parts;
  const requireKnown = (check: string) => {
    if (!isKnown(definitions, check)) throw toTerminalError(unknownCheck(definitions, check));
  };
  return implement(checkReads, {
    handlers: {
      List: (ctx) => readNow(ctx, reads.list, viewChecks),
      History: (ctx, request) => {
        requireKnown(request.check);
        return readNow(ctx, reads.history, () => reader.history(request));
      },
      Chart: (ctx, request) => {
        requireKnown(request.check);
        return readNow(ctx, reads.chart, () => reader.chart(request, nowMs()));
      },
      Summary: (ctx, request) => {
        requireKnown(request.check);
        return readNow(ctx, reads.summary, () => sumUp(request));
      },
      Episodes: (ctx, request) => {
        if (request.check !== undefined) requireKnown(request.check);
        return readNow(ctx, reads.episodes, async () => ({
          episodes: await reader.episodes(request),
        }));
      },
      Replay: (ctx, request) => {
        requireKnown(request.check);
        requireApiCheck(definitions, request.check);
        return readNow(ctx, reads.replay, () => replayCheck(request));
      },
    },
    options: { journalRetention: 0, asTerminalError },
  });
}

function isKnown({ apiChecks, heartbeats }: Definitions, id: string): boolean {
  return [...apiChecks, ...heartbeats].some((check) => check.id === id);
}

/** Throws 400 `not_replayable` for a heartbeat, which has no thresholds. */
function requireApiCheck({ apiChecks }: Definitions, id: string): void {
  if (apiChecks.some((check) => check.id === id)) return;
  throw toTerminalError(
    new ProblemError<CheckProblemCode>({
      status: 400,
      code: "not_replayable",
      detail: `${id} is a heartbeat: only API checks can be replayed`,
    }),
  );
}

function unknownCheck({ apiChecks, heartbeats }: Definitions, id: string) {
  const known = [...apiChecks, ...heartbeats].map((check) => check.id).slice(0, 20);
  return new ProblemError<CheckProblemCode>({
    status: 404,
    code: "unknown_check",
    detail: `there is no check ${id}; there are ${known.join(", ")}`,
  });
}
