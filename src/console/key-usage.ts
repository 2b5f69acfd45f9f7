/** Verifications of one workspace by outcome, over time and by API. */
import type { FastifyInstance } from "fastify";
import { type KeyUsage, KeyUsageRequest } from "./contract.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";

/** `outcome` is the code that a verification returned. */
type OutcomeCount = { outcome: string; n: number };

type Outcomes = {
  /** All key spaces, in buckets: of a minute for spans up to six hours, of an hour up to a month, else of a day. */
  overTime: readonly (OutcomeCount & { atMs: number })[];
  /** Per key space, over the whole span. */
  ofKeySpaces: readonly (OutcomeCount & { keySpaceId: string })[];
};

export type ReadOutcomes = (
  workspaceId: string,
  span: { fromMs: number; nowMs: number },
  keySpaceIds: readonly string[],
) => Promise<Outcomes>;

/** Workspaces, oldest first, and the APIs of the named workspace, by default of the oldest. */
export type ListApis = (workspaceId: string | undefined) => Promise<{
  workspaceId: string | null;
  workspaces: { id: string; name: string }[];
  apis: { name: string; key_space_id: string; keys: number }[];
}>;

type Parts = {
  listApis: ListApis;
  guard: Guard;
  /** undefined: the program has no analytics. */
  readOutcomes: ReadOutcomes | undefined;
  bucketSecondsOf: (spanMs: number) => number;
};

const hourMs = 3_600_000;

export function serveKeyUsage(app: FastifyInstance, parts: Parts): void {
  app.post("/api/read/key-usage", async (request) => {
    await parts.guard.requireSession(request);
    return readUsage(parts, parseBody(KeyUsageRequest, request.body), Date.now());
  });
}

async function readUsage(
  { listApis, readOutcomes, bucketSecondsOf }: Parts,
  { workspace_id, hours }: { workspace_id?: string | undefined; hours: number },
  nowMs: number,
): Promise<KeyUsage> {
  const { workspaceId, workspaces, apis } = await listApis(workspace_id);
  const fromMs = nowMs - hours * hourMs;
  const keySpaceIds = apis.map(({ key_space_id }) => key_space_id);
  const { overTime, ofKeySpaces } =
    readOutcomes === undefined || workspaceId === null
      ? nothing
      : await readOutcomes(workspaceId, { fromMs, nowMs }, keySpaceIds);
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
      outcomes: sumOf(ofKeySpaces.filter(({ keySpaceId }) => keySpaceId === key_space_id)),
    })),
    points: toPoints(overTime),
  };
}

const nothing: Outcomes = { overTime: [], ofKeySpaces: [] };

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
