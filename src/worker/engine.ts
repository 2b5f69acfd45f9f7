/** `Engine`: the versions that Restate knows, invocations that do not progress, and the safe ways to move them. */
import { implement } from "@restatedev/restate-sdk";
import { cleanWords } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { cleanText } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import { engineService, type Troubled, type Version } from "./contract.ts";
import { isOurs, moveToServing, type RestateAdmin } from "./restate-admin.ts";
import { revisionOf } from "./wedged.ts";

const mostTroubled = 200;
const mostMoved = 1_000;
const longestReason = 500;

const reading = {
  name: "ask-restate",
  limitMs: 10_000,
  describe: () => "Restate's admin API does not answer now (restate.admin_url)",
};

export function createEngineService(admin: RestateAdmin) {
  return implement(engineService, {
    handlers: {
      Versions: async (ctx) => ({
        versions: await readNow(ctx, reading, () => readVersions(admin)),
      }),
      Troubled: (ctx) => readNow(ctx, reading, () => readTroubled(admin)),
      Adopt: (ctx, { revision }) => readNow(ctx, reading, () => adopt(admin, revision)),
      Retry: (ctx, { id }) => readNow(ctx, reading, () => retry(admin, id)),
    },
    options: { ...unkept, asTerminalError },
  });
}

type DeploymentRow = { id: string; endpoint: string; created_at: string };
type CountRow = { id: string; status: string; count: number; unreachable: number };

// A deployment that serves others is of another program at the same Restate.
const findDeployments = `
  SELECT id, endpoint, created_at FROM sys_deployment
  WHERE endpoint LIKE '%/rev-%'
    AND id NOT IN (SELECT deployment_id FROM sys_service WHERE NOT (${isOurs("name")}))
  ORDER BY created_at DESC LIMIT 200`;

const countServices = `
  SELECT deployment_id AS id, count(*) AS count FROM sys_service WHERE ${isOurs("name")} GROUP BY 1`;

const countUnfinished = `
  SELECT pinned_deployment_id AS id, status, count(*) AS count,
    sum(CASE WHEN last_failure_error_code = 'RT0010' THEN 1 ELSE 0 END) AS unreachable
  FROM sys_invocation
  WHERE status <> 'completed' AND pinned_deployment_id IS NOT NULL AND ${isOurs("target_service_name")}
  GROUP BY 1, 2`;

/** Newest first. */
async function readVersions(admin: RestateAdmin): Promise<Version[]> {
  const deployments = await admin.query<DeploymentRow>(findDeployments);
  const services = await admin.query<{ id: string; count: number }>(countServices);
  const counts = await admin.query<CountRow>(countUnfinished);
  return deployments.map(({ id, endpoint, created_at: at }) => {
    const own = counts.filter((row) => row.id === id);
    return {
      revision: revisionOf(endpoint) ?? "",
      address: endpoint,
      registered_at: toIso(Date.parse(at)),
      serves: services.find((row) => row.id === id)?.count ?? 0,
      unfinished: Object.fromEntries(own.map(({ status, count }) => [status, count])),
      unreachable: own.reduce((sum, { unreachable }) => sum + unreachable, 0),
    };
  });
}

type TroubledRow = {
  id: string;
  target: string;
  status: Troubled["status"];
  modified_at: string;
  retry_count?: number;
  next_retry_at?: string;
  last_failure?: string;
  last_failure_error_code?: string;
  endpoint?: string;
};

const isTroubled = `i.status IN ('paused', 'backing-off') AND ${isOurs("i.target_service_name")}`;

const findTroubled = `
  SELECT i.id, i.target, i.status, i.modified_at, i.retry_count, i.next_retry_at, i.last_failure,
    i.last_failure_error_code, d.endpoint
  FROM sys_invocation i LEFT JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  WHERE ${isTroubled} ORDER BY i.modified_at LIMIT ${mostTroubled}`;

/** The longest in trouble first, 200 at most. */
export async function listTroubled(admin: Pick<RestateAdmin, "query">): Promise<Troubled[]> {
  return (await admin.query<TroubledRow>(findTroubled)).map(describeTroubled);
}

export async function readTroubled(admin: Pick<RestateAdmin, "query">) {
  const invocations = await listTroubled(admin);
  const [all] = await admin.query<{ count: number }>(
    `SELECT count(*) AS count FROM sys_invocation i WHERE ${isTroubled}`,
  );
  return { invocations, total: all?.count ?? invocations.length };
}

/** A stack begins with the message, which Restate has before it. By lines: the words of others may be many. */
function withoutStack(failure: string): string {
  const lines = failure.split("\n");
  const begin = lines.findIndex((line, i) => i > 0 && /^\w*error: /i.test(line));
  const isStack = begin > 0 && lines.slice(begin + 1).some((line) => /^\s+at /.test(line));
  return isStack ? lines.slice(0, begin).join("\n") : failure;
}

function describeTroubled(row: TroubledRow): Troubled {
  const { id, status, modified_at: since, retry_count: attempts, next_retry_at: next } = row;
  return {
    id,
    target: cleanText(row.target, 200),
    status,
    since: toIso(Date.parse(since)),
    attempts: attempts ?? 0,
    next_attempt_at: next === undefined ? null : toIso(Date.parse(next)),
    reason: cleanWords(withoutStack(row.last_failure ?? ""), longestReason),
    advice: adviseOn({
      status,
      code: row.last_failure_error_code ?? null,
      endpoint: row.endpoint ?? null,
    }),
  };
}

/** Returns what happens by itself to an invocation, or what helps. The codes are Restate's. Pure. */
export function adviseOn(trouble: {
  status: Troubled["status"];
  code: string | null;
  endpoint: string | null;
}): string {
  const { status, code, endpoint } = trouble;
  if (code === "RT0010") {
    return `No worker answers at its address: start that one, or move it: vedette upgrade adopt ${revisionOf(endpoint) ?? ""}`;
  }
  if (code === "RT0016" || code === "RT0012") {
    return "Another version started it and this one cannot continue it: it is released by itself within seconds.";
  }
  if (status === "paused")
    return "It is not retried by itself: repair the cause, then vedette engine retry.";
  return "It is retried by itself: repair the cause that its reason names.";
}

const findPinned = (revision: string) => `
  SELECT i.id, i.status FROM sys_invocation i
  JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  JOIN sys_service s ON s.name = i.target_service_name
  WHERE i.status <> 'completed' AND ${isOurs("i.target_service_name")}
    AND d.id <> s.deployment_id AND rtrim(d.endpoint, '/') LIKE '%/rev-${revision}'`;

async function adopt(admin: RestateAdmin, revision: string) {
  const pinned = await admin.query<{ id: string; status: string }>(findPinned(revision));
  // One that runs may be at work in a process that still answers.
  const inactive = pinned.filter(({ status }) =>
    ["backing-off", "paused", "suspended"].includes(status),
  );
  const moved = inactive.slice(0, mostMoved);
  await moveToServing(admin, moved);
  return { moved: moved.length, left: pinned.length - moved.length };
}

async function retry(admin: RestateAdmin, id: string): Promise<{ target: string }> {
  // By a text: Restate answers an error to a comparison with an id that it could not have made.
  const [found] = await admin.query<{ target: string }>(
    `SELECT i.target FROM sys_invocation i WHERE concat(i.id, '') = '${id}' AND ${isTroubled}`,
  );
  if (found === undefined) {
    const detail = `${id} is none of those that \`vedette engine\` lists: it has ended, or it runs`;
    throw new ProblemError({ status: 404, code: "no_such_invocation", detail });
  }
  await admin.change("resume", [id]);
  return { target: cleanText(found.target, 200) };
}
