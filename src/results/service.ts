/** The readers as a Restate service, so that they are reached through the gateway like the rest. */
import { implement } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { toTerminalError } from "#kernel/terminal.ts";
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

/** A caller waits: the database is not waited for longer than this. */
const retry = { maxRetryDuration: 15_000 };

export function createCheckReads(parts: Parts) {
  const { definitions, viewChecks, reader, sumUp, replayCheck, nowMs } = parts;
  const requireKnown = (check: string) => {
    if (!isKnown(definitions, check)) throw toTerminalError(unknownCheck(definitions, check));
  };
  return implement(checkReads, {
    handlers: {
      List: (ctx) => ctx.run("list-checks", viewChecks, retry),
      History: (ctx, request) => {
        requireKnown(request.check);
        return ctx.run("read-history", () => reader.history(request), retry);
      },
      Chart: (ctx, request) => {
        requireKnown(request.check);
        return ctx.run("read-chart", () => reader.chart(request, nowMs()), retry);
      },
      Summary: (ctx, request) => {
        requireKnown(request.check);
        return ctx.run("sum-up-check", () => sumUp(request), retry);
      },
      Episodes: (ctx, request) => {
        if (request.check !== undefined) requireKnown(request.check);
        return ctx.run(
          "read-episodes",
          async () => ({ episodes: await reader.episodes(request) }),
          retry,
        );
      },
      Replay: (ctx, request) => {
        requireKnown(request.check);
        requireApiCheck(definitions, request.check);
        return ctx.run("replay-check", () => replayCheck(request), retry);
      },
    },
    options: { journalRetention: 0 },
  });
}

function isKnown({ apiChecks, heartbeats }: Definitions, id: string): boolean {
  return [...apiChecks, ...heartbeats].some((check) => check.id === id);
}

/** A heartbeat has no thresholds that could have been others. */
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
