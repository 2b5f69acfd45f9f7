/** The door of control for runners at further locations: they fetch their work and report results. */
import { createHash } from "node:crypto";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { createPaceLimit } from "#kernel/open-limit.ts";
import { invariant, ProblemError } from "#kernel/problem.ts";
import { type OwnService, seenFromElsewhere } from "#kernel/reach.ts";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import { gridOf, isTick } from "#monitor/rules/grid.ts";
import { runsAt } from "#monitor/rules/locations.ts";
import { RunnerReport, reportPath, type Work, WorkRequest, workPath } from "./contract.ts";
import type { Runners } from "./runners.ts";

type Parts = {
  runners: Pick<Runners, "identify">;
  readChecks: () => Promise<readonly ApiCheck[]>;
  /** Checks that are off run nowhere. Asked only of those that a call is about: it may read files. */
  whyOff: WhyOff;
  baseUrl: string;
  services?: readonly OwnService[];
  /** Takes the results of a further location. Throws when they are not written. */
  report: (checkId: string, report: Report) => Promise<void>;
  nowMs: () => number;
};

/** A runner asks for its work every 20 seconds, and makes some hundred results a second at the most. */
const mostEachSecond = { work: 5, reports: 200, results: 5_000 };

export function createRunnerDoor(parts: Parts) {
  const { runners, readChecks, baseUrl, services = [], report, nowMs } = parts;
  const isOff = (check: ApiCheck) => parts.whyOff(check).length > 0;
  const [countWork, countReport, countResults] = [
    limitPace(mostEachSecond.work),
    limitPace(mostEachSecond.reports),
    limitPace(mostEachSecond.results),
  ];
  const locations = new WeakMap<FastifyRequest, string>();
  const locationOf = (request: FastifyRequest) => {
    const location = locations.get(request);
    invariant(location !== undefined, "the request was not authenticated");
    return location;
  };
  const plugin: FastifyPluginAsync = async (app) => {
    // Before the body is read, so that an unauthenticated request costs little.
    app.addHook("onRequest", async (request) => {
      locations.set(request, await requireRunner(request, runners));
    });
    app.post(workPath, async (request): Promise<Work> => {
      const location = locationOf(request);
      countWork(location);
      const asked = WorkRequest.safeParse(request.body).data ?? { kinds: [] };
      const own = (await readChecks())
        .filter((check) => runsAt(check, location))
        .filter((check) => isKnownTo(asked, check) && !isOff(check));
      const fixed = { location, base_url: baseUrl, services: seenFromElsewhere(services) };
      return { ...fixed, now_ms: nowMs(), checks: own.map(toWork) };
    });
    app.post(reportPath, async (request, reply) => {
      const location = locationOf(request);
      countReport(location);
      const results = readReport(request.body);
      countResults(location, results.length);
      const known = new Map((await readChecks()).map((check) => [check.id, check]));
      const takes = results.map((result) => {
        const check = known.get(result.checkId);
        // The check was removed since the runner last fetched its work: its result is not needed.
        if (check === undefined || !runsAt(check, location) || isOff(check)) return null;
        const { scheduledAtMs } = result;
        if (!isWithinReach(scheduledAtMs, { check, nowMs: nowMs() })) return null;
        return report(check.id, { scheduledAtMs, results: [{ ...result, location }] });
      });
      // After an error the runner sends the whole report again: what is written already does not change.
      await Promise.all(takes);
      return reply.code(202).send({ accepted: true });
    });
  };
  return { isMine: (path: string) => path === workPath || path === reportPath, plugin };
}

/** Counts what a location sends; throws a 429 for more than `most` in a second. */
function limitPace(most: number): (location: string, count?: number) => void {
  const isOver = createPaceLimit(most);
  return (location, count) => {
    if (!isOver(location, count)) return;
    const detail = `the runner at ${location} sends too much: try again in a second`;
    throw new ProblemError({ status: 429, code: "too_many_calls", detail });
  };
}

/** The fields that a runner needs. */
function toWork(check: ApiCheck) {
  const { channel: _channel, directChannels: _others, dependsOn: _dependsOn, ...needed } = check;
  return needed;
}

function isKnownTo({ kinds }: WorkRequest, check: ApiCheck): boolean {
  return kinds.includes(check.kind);
}

/** The maximum age of a result, more than a runner keeps while it cannot report. */
const maxAgeMs = 86_400_000;

/** Runners follow our clock and grid: a tick ahead, too old or in between would count by one location's word. */
function isWithinReach(
  scheduledAtMs: number,
  { check, nowMs }: { check: ApiCheck; nowMs: number },
): boolean {
  const aheadMs = scheduledAtMs - nowMs;
  const isInTime = aheadMs <= check.frequencySeconds * 1_000 && aheadMs >= -maxAgeMs;
  return isInTime && isTick(gridOf(check), scheduledAtMs);
}

async function requireRunner(
  request: FastifyRequest,
  runners: Pick<Runners, "identify">,
): Promise<string> {
  const [, token = ""] = /^Bearer ([\w-]{43})$/.exec(request.headers.authorization ?? "") ?? [];
  const hash = createHash("sha256").update(token).digest();
  const location = token === "" ? null : await runners.identify(hash);
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
