/** The door of control for runners at further places: they ask for work and report what they found. */
import { createHash } from "node:crypto";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import pLimit from "p-limit";
import { invariant } from "#kernel/invariant.ts";
import { ProblemError } from "#kernel/problem.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { runsAt } from "#monitor/definitions/locations.ts";
import type { Report } from "#monitor/internal.ts";
import { apiCheckService } from "#monitor/operations/contract.ts";
import { RunnerReport, reportPath, type Work, workPath } from "./contract.ts";
import type { Runners } from "./runners.ts";

/** Gives a check's object what a further place found. Throws when it cannot be reached. */
export type SendReport = (checkId: string, report: Report) => Promise<void>;

type Parts = {
  runners: Pick<Runners, "greet">;
  checks: readonly ApiCheck[];
  baseUrl: string;
  tell: SendReport;
  nowMs: () => number;
};

export function createRunnerDoor({ runners, checks, baseUrl, tell, nowMs }: Parts) {
  const places = new WeakMap<FastifyRequest, string>();
  const placeOf = (request: FastifyRequest) => {
    const location = places.get(request);
    invariant(location !== undefined, "nobody asked whose request this is");
    return location;
  };
  const plugin: FastifyPluginAsync = async (app) => {
    // Before the body: of a stranger's none is read.
    app.addHook("onRequest", async (request) => {
      places.set(request, await requireRunner(request, runners));
    });
    app.post(workPath, async (request): Promise<Work> => {
      const location = placeOf(request);
      const own = checks.filter((check) => runsAt(check, location));
      return { location, now_ms: nowMs(), base_url: baseUrl, checks: own };
    });
    app.post(reportPath, async (request, reply) => {
      const location = placeOf(request);
      const known = new Map(checks.map((check) => [check.id, check]));
      const limit = pLimit(toldAtOnce);
      const telling = readReport(request.body).map((result) => {
        const check = known.get(result.checkId);
        // A check that is gone since the runner last asked: nothing is lost with it.
        if (check === undefined || !runsAt(check, location)) return null;
        const { scheduledAtMs } = result;
        if (!isWithinReach(scheduledAtMs, { check, nowMs: nowMs() })) return null;
        const results = [{ ...result, location }];
        return limit(() => tell(check.id, { scheduledAtMs, atMs: nowMs(), results }));
      });
      // Who is told of a failure sends all of it again.
      await Promise.all(telling).finally(() => limit.clearQueue());
      return reply.code(202).send({ accepted: true });
    });
  };
  return { isMine: (path: string) => path === workPath || path === reportPath, plugin };
}

/** One after the other a full report would take longer than a runner waits, and then come again and again. */
const toldAtOnce = 16;

/** The month before this one is always there to write to; for one further back a table would be made. */
const longestKeptMs = 28 * 86_400_000;

/** Runners keep to our clock: a tick that is to come nobody can have run, nor keeps anyone a result so long. */
function isWithinReach(
  scheduledAtMs: number,
  { check, nowMs }: { check: ApiCheck; nowMs: number },
): boolean {
  const aheadMs = scheduledAtMs - nowMs;
  return aheadMs <= check.frequencySeconds * 1_000 && aheadMs >= -longestKeptMs;
}

async function requireRunner(
  request: FastifyRequest,
  runners: Pick<Runners, "greet">,
): Promise<string> {
  const [, token = ""] = /^Bearer ([\w-]{43})$/.exec(request.headers.authorization ?? "") ?? [];
  const hash = createHash("sha256").update(token).digest();
  const location = token === "" ? null : await runners.greet(hash);
  if (location !== null) return location;
  throw new ProblemError({
    status: 401,
    code: "unauthorized",
    detail: "no runner has this token: make one with `vedette runners add`",
  });
}

function readReport(body: unknown): CheckResult[] {
  const parsed = RunnerReport.safeParse(body);
  if (parsed.success) return parsed.data.results;
  const [issue] = parsed.error.issues;
  const detail = `${issue?.path.join(".") || "body"}: ${issue?.message}`;
  throw new ProblemError({ status: 400, code: "invalid_request", detail });
}

/** Over Restate's own ingress. A report that comes twice changes nothing. */
export function createSendReport(ingressUrl: string): SendReport {
  return (checkId, report) =>
    sendToRestate(`${ingressUrl}/${apiCheckService}/${checkId}/report`, report, patience.caller);
}
