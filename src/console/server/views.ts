/** Reads of pages that no handler has: several joined, or rows of Postgres, which are readable while Restate is away. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { z } from "zod";
import {
  type ConsoleAccess,
  type KeyUsage,
  KeyUsageRequest,
  type PastRollout,
  type RoutingView,
  type SentinelDetail,
  SimulationRequest,
} from "#console/contract.ts";
import { detailOf } from "#console/counts.ts";
import { toStore } from "#console/events.ts";
import { maxSentinelId } from "#fleet/contract.ts";
import { type FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import { parseBody } from "#kernel/faults.ts";
import { createOpenLimit } from "#kernel/open-limit.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import { isClean } from "#kernel/text.ts";
import type {
  Member,
  MemberHistory,
  Progress,
  RolloutDetail,
  SeenImage,
  SentinelDeploy,
} from "#rollout/history/contract.ts";
import {
  alertRoutesHandlers,
  alertRoutesKey,
  alertRoutesName,
} from "#routing/incident/contract.ts";
import { joinPast, type Part, partOf, toColumns } from "./columns.ts";
import { chosenFleet, type Guard, missing } from "./guard.ts";
import type { ReadMoment } from "./moment.ts";
import { encodePast } from "./past.ts";

export type ViewSources = {
  /** The tables of the fleet and of rollouts. */
  fleet: { one: (id: string) => Promise<Omit<SentinelDetail, keyof Part> | undefined> };
  rollouts: {
    member: (rolloutId: string, id: string) => Promise<Member | undefined>;
    progress: (rolloutId: string) => Promise<Progress>;
    /** The outcomes of each of its sentinels, with their times. */
    histories: (rolloutId: string) => Promise<MemberHistory[]>;
  };
  readMoment: ReadMoment;
  fleetPages: {
    overview: (fleet: string, search: FleetSearch) => Promise<FleetOverview>;
    /** The newest deploys of a sentinel, over all rollouts. */
    deploys: (sentinelId: string) => Promise<SentinelDeploy[]>;
    images: (fleet: string) => Promise<SeenImage[]>;
  };
  readRouting: () => Promise<Routing>;
  /** Workspaces, oldest first, and the APIs of the named workspace, by default of the oldest. */
  listApis: (workspaceId: string | undefined) => Promise<{
    workspaceId: string | null;
    workspaces: { id: string; name: string }[];
    apis: { name: string; key_space_id: string; keys: number }[];
  }>;
  /** undefined: there are no analytics to read. */
  readOutcomes: ReadOutcomes | undefined;
  bucketSecondsOf: (spanMs: number) => number;
};

/** Computed from the rows of the routes alone; `simulate` throws for an unknown source. */
type Routing = {
  sources: RoutingView["sources"];
  checks: RoutingView["checks"];
  reaches_nobody?: string | undefined;
  simulate: (alert: { source: string; labels: Record<string, string> }) => {
    routes: readonly RoutingView["simulation"]["routes"][number][];
    pages: readonly string[];
    channels: readonly string[];
  };
};

type ReadOutcomes = (
  workspaceId: string,
  span: { fromMs: number; nowMs: number },
  keySpaceIds: readonly string[],
) => Promise<Outcomes>;

/** `outcome` is the code that a verification returned. */
type OutcomeCount = { outcome: string; n: number };

type Outcomes = {
  /** All key spaces, in buckets: of a minute for spans up to six hours, of an hour up to a month, else of a day. */
  overTime: readonly (OutcomeCount & { atMs: number })[];
  /** Per key space, over the whole span. */
  ofKeySpaces: readonly (OutcomeCount & { keySpaceId: string })[];
};

type Parts = ViewSources & { access: ConsoleAccess; guard: Guard; fleets: readonly string[] };

const SentinelId = z.string().refine((id) => isClean(id, maxSentinelId), "must be a sentinel's id");
const RolloutId = z.string().refine((id) => isClean(id, 100), "must be a rollout id");
const PastRequest = z.strictObject({
  rollout_id: RolloutId,
  /** True if the answer is to have `past`: the changes from moment to moment. */
  moments: z.boolean().default(false),
});
const SentinelRequest = z.strictObject({ id: SentinelId, rollout_id: RolloutId.nullable() });

export function serveViews(app: FastifyInstance, parts: Parts): void {
  const { guard, fleets, fleetPages: pages } = parts;
  const limitReads = createOpenLimit({ heldMs: 0 });
  const serve = <Schema extends z.ZodType>(
    name: string,
    input: Schema,
    answer: (body: z.infer<Schema>, from: { request: FastifyRequest; by: Caller }) => unknown,
  ) =>
    app.post(`/api/read/${name}`, async (request) => {
      const by = await guard.requireSession(request);
      const body = parseBody(input, request.body);
      return limitReads({ reader: by.actor }, async () => answer(body, { request, by }));
    });
  const past = shareReads((asked: PastAsked) => readPast(parts, asked), { atOnce: 2 });
  const overview = shareReads(pages.overview, { atOnce: 2 });
  serve("past-rollout", PastRequest, (asked) => past(asked));
  serve("sentinel", SentinelRequest, (asked) => readSentinel(parts, asked));
  serve("sentinel-deploys", z.strictObject({ id: SentinelId }), async ({ id }) => ({
    deploys: await pages.deploys(id),
  }));
  serve("fleet", FleetSearch, (search, { request }) =>
    overview(chosenFleet(request, fleets), search),
  );
  serve("images", z.strictObject({}), async (_, { request }) => ({
    images: await pages.images(chosenFleet(request, fleets)),
  }));
  serve("routing", SimulationRequest, (alert, { by }) => readRoutes(parts, alert, by));
  serve("key-usage", KeyUsageRequest, (asked) => readUsage(parts, asked, Date.now()));
}

/** Fresh enough for pages that ask every few seconds. */
const freshMs = 2_000;
/** An answer about a large fleet takes half a megabyte. */
const mostKept = 20;

type Read<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** Callers that ask the same within moments share a costly answer. `atOnce`: how many different ones run. */
export function shareReads<Args extends unknown[], Answer extends object>(
  read: Read<Args, Answer>,
  { atOnce }: { atOnce: number },
): Read<Args, Answer> {
  const limit = pLimit(atOnce);
  const answers = new LRUCache<string, Answer, { args: Args }>({
    max: mostKept,
    ttl: freshMs,
    fetchMethod: (_key, _stale, { context }) => limit(() => read(...context.args)),
  });
  return (...args) => answers.forceFetch(JSON.stringify(args), { context: { args } });
}

type PastAsked = z.infer<typeof PastRequest>;

/** Reads a rollout with its own fleet, whichever the page shows: a link to a rollout need not name it. */
async function readPast(
  { rollouts, readMoment }: ViewSources,
  { rollout_id: rolloutId, moments }: PastAsked,
): Promise<PastRollout> {
  const { recorded, members, fleet } = await readMoment({ rolloutId });
  if (recorded === undefined) throw missing("there is no such rollout");
  const columns = toColumns(joinPast(fleet, members), recorded.status);
  const detail = detailOf(recorded, toStore(columns));
  const [progress, histories] = await Promise.all([
    rollouts.progress(rolloutId),
    moments ? rollouts.histories(rolloutId) : undefined,
  ]);
  const past = histories && encodePast(columns.ids, histories, spanOf(detail));
  return { detail, fleet: columns, progress, ...(past !== undefined && { past }) };
}

/** The span of a rollout; that of one that goes on ends with its last change. */
function spanOf({ status, ended_at: endedAt }: RolloutDetail): { fromMs: number; toMs: number } {
  const fromMs = Date.parse(status.started_at ?? "");
  const toMs = Date.parse(endedAt ?? status.updated_at ?? "");
  return { fromMs, toMs: Math.max(fromMs, toMs) };
}

/** One sentinel with its part in a rollout. Throws 404 for a sentinel that does not exist any more. */
async function readSentinel(
  { fleet, rollouts }: ViewSources,
  { id, rollout_id: rolloutId }: z.infer<typeof SentinelRequest>,
): Promise<SentinelDetail> {
  const sentinel = await fleet.one(id);
  if (sentinel === undefined) throw missing(`there is no sentinel ${id} any more`);
  const member = rolloutId === null ? undefined : await rollouts.member(rolloutId, id);
  return { ...sentinel, ...partOf(member) };
}

/** Alert routes: who is notified of what, and whether the incident service is in step. */
async function readRoutes(
  { access, readRouting }: Parts,
  alert: z.infer<typeof SimulationRequest>,
  by: Caller,
): Promise<RoutingView> {
  const { simulate, ...rows } = await readRouting();
  const { routes, pages, channels } = simulate(alert);
  const simulation = { ...alert, routes: [...routes], pages: [...pages], channels: [...channels] };
  return { ...(await readSync(access, by)), ...rows, simulation };
}

/** An error here becomes part of the answer, so that the rest of the page is still shown. */
async function readSync(
  access: ConsoleAccess,
  by: Caller,
): Promise<Pick<RoutingView, "sync" | "sync_trouble">> {
  try {
    const path = `/${alertRoutesName}/${alertRoutesKey}/Status`;
    const status = await access.call({ path, body: {}, by });
    const { owned: _, ...sync } = alertRoutesHandlers.Status.output.parse(status);
    return { sync, sync_trouble: null };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { sync: null, sync_trouble: error.message };
  }
}

const hourMs = 3_600_000;

/** Verifications of one workspace by outcome, over time and by API. */
async function readUsage(
  { listApis, readOutcomes, bucketSecondsOf }: ViewSources,
  { workspace_id, hours }: z.infer<typeof KeyUsageRequest>,
  nowMs: number,
): Promise<KeyUsage> {
  const { workspaceId, workspaces, apis } = await listApis(workspace_id);
  const fromMs = nowMs - hours * hourMs;
  const keySpaceIds = apis.map(({ key_space_id }) => key_space_id);
  const { overTime, ofKeySpaces } =
    readOutcomes === undefined || workspaceId === null
      ? { overTime: [], ofKeySpaces: [] }
      : await readOutcomes(workspaceId, { fromMs, nowMs }, keySpaceIds);
  const outcomesOf = (id: string) =>
    sumOf(ofKeySpaces.filter(({ keySpaceId }) => keySpaceId === id));
  return {
    is_recorded: readOutcomes !== undefined,
    workspace_id: workspaceId,
    workspaces,
    from: new Date(fromMs).toISOString(),
    to: new Date(nowMs).toISOString(),
    bucket_seconds: bucketSecondsOf(nowMs - fromMs),
    apis: apis.map(({ name, key_space_id, keys }) => ({
      name,
      key_space_id,
      keys,
      outcomes: outcomesOf(key_space_id),
    })),
    points: toPoints(overTime),
  };
}

function toPoints(counts: Outcomes["overTime"]): KeyUsage["points"] {
  const buckets = Map.groupBy(counts, ({ atMs }) => Number(atMs));
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([atMs, of]) => ({ at: new Date(atMs).toISOString(), outcomes: sumOf(of) }));
}

function sumOf(counts: readonly OutcomeCount[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { outcome, n } of counts) sums[outcome] = (sums[outcome] ?? 0) + Number(n);
  return sums;
}
