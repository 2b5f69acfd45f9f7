/** Reads the facts of a past rollout from history, a page of its sentinels at a time. */
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import { checksOf } from "#rollout/gates/registry.ts";
import type { ReplayProblemCode } from "./contract.ts";
import type { CheckRun, FactMember, ReplayFacts } from "./facts.ts";

/** Reads the runs of checks that were due in a time, the first ones first. `untilMs`: earlier if there are too many. */
export type ReadRuns = (
  checks: readonly string[],
  span: { fromMs: number; untilMs: number },
) => Promise<{ runs: CheckRun[]; untilMs: number }>;

type Parts = { database: Database; readRuns: ReadRuns; nowMs: () => number };

const pageSize = 5_000;
const mostMembers = 200_000;

/** The longest gate: runs later than that after the end of the rollout are of no replay. */
const gateMs = 86_400_000;

/** Returns a function that reads facts; `gates`: those that are played, besides the recorded ones. */
export function createReadFacts({ database, readRuns, nowMs }: Parts) {
  return async (rolloutId: string, gates: readonly NamedGate[]): Promise<ReplayFacts> => {
    const row = await readRollout(database, rolloutId);
    const members = await readMembers(database, rolloutId);
    const startedMs = row.started_at.getTime();
    const endedMs = (row.ended_at ?? row.updated_at).getTime();
    // After a rollback the checks say nothing about the image any more.
    const saysMs = row.rolled_back_at?.getTime() ?? endedMs + gateMs;
    const recorded: NamedGate[] = row.gates ?? [];
    const checks = checksOf([...recorded, ...gates]);
    const span = { fromMs: startedMs, untilMs: Math.min(nowMs(), saysMs) };
    const read = checks.length === 0 ? { runs: [], ...span } : await readRuns(checks, span);
    return {
      ...{ rolloutId, image: row.image, policy: row.policy, startedMs, endedMs, members },
      ...{ wavePercentages: row.wave_percentages, percentages: row.percentages },
      gates: recorded,
      ...(row.fleet_size !== null && { fleetSize: row.fleet_size }),
      status: statusOf(row),
      runs: read.runs.toSorted((a, b) => a.decidedMs - b.decidedMs),
      runsUntilMs: read.untilMs,
      interventions: row.interventions,
    };
  };
}

/** A row with the columns of `selectRollout`. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is that of the query
type Row = any;

/** Throws a `ProblemError` for a rollout that cannot be replayed. */
async function readRollout(database: Database, rolloutId: string): Promise<Row> {
  const { rows } = await database.query(selectRollout, [rolloutId]);
  const [row] = rows;
  if (row === undefined) throw refuse(404, "unknown_rollout", `there is no rollout ${rolloutId}`);
  if (row.ended_at === null && row.state !== "paused")
    throw refuse(409, "not_replayable", "it has not ended yet: replay it then");
  if (row.total > mostMembers)
    throw refuse(422, "not_replayable", `it has more than ${mostMembers} sentinels`);
  return row;
}

function refuse(status: number, code: ReplayProblemCode, detail: string) {
  return new ProblemError<ReplayProblemCode>({ status, code, detail });
}

function statusOf(row: Row): ReplayFacts["status"] {
  return {
    ...{ state: row.state, outcome: row.outcome, wave: row.current_wave, waves: row.total_waves },
    ...(row.cause !== null && { cause: row.cause }),
    ...(row.reason !== null && { reason: row.reason }),
  };
}

async function readMembers(database: Database, rolloutId: string): Promise<FactMember[]> {
  const members: FactMember[] = [];
  for (let after = ""; ; ) {
    const { rows } = await database.query<MemberRow>(selectMembers, [rolloutId, after, pageSize]);
    for (const row of rows) members.push(toMember(row));
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return members;
    after = last.id;
  }
}

type Change = [outcome: string | null, atMs: number, orderedMs: number | null, ofFleet?: true];

type MemberRow = {
  id: string;
  wave: number | null;
  outcome: string | null;
  region: string | null;
  labels: Record<string, string> | null;
  changes: Change[];
  wave_ms: number | null;
};

/** The first result counts: later ones are of operators, who tried again or rolled back. */
function toMember({ id, wave, outcome, region, labels, changes, ...row }: MemberRow): FactMember {
  const sorted = changes.toSorted(([, a], [, b]) => a - b);
  const first = sorted.find(([to]) => to === "succeeded" || to === "failed");
  const member = { id, region: region ?? "", labels: labels ?? {}, wave };
  if (first === undefined)
    return { ...member, ...(wave !== null && outcome === "left_out" && { isPinned: true }) };
  const [to, endMs, orderedMs, isOfFleet] = first;
  const ofFleet = isOfFleet === true && { ofFleet: isOfFleet };
  const startMs = Math.min(endMs, orderedMs ?? row.wave_ms ?? endMs);
  const result = { ok: to === "succeeded", startMs, endMs, ...ofFleet };
  const [, next] = sorted.slice(sorted.indexOf(first));
  if (!result.ok || next?.[0] !== "failed") return { ...member, result };
  const stray = { atMs: next[1], ...(next[3] === true && { ofFleet: next[3] }) };
  return { ...member, result, stray };
}

const selectRollout = `
  SELECT r.*,
    ARRAY(SELECT (wave ->> 'percentage')::integer FROM jsonb_array_elements(r.waves)
      WITH ORDINALITY AS t (wave, n) ORDER BY n) AS percentages,
    (SELECT min(at) FROM rollout_messages WHERE rollout_id = r.id AND event = 'rollback started')
      AS rolled_back_at,
    (SELECT count(*)::integer FROM rollout_messages
      WHERE rollout_id = r.id AND event IN ('resumed', 'resumed to retry', 'skipped'))
      AS interventions
  FROM rollouts AS r WHERE r.id = $1`;

// No policy takes what a pin leaves out of all waves; the words are those of `reasonOf`.
const selectMembers = `
  SELECT s.sentinel_id AS id, nullif(s.wave, 0) AS wave, s.outcome, s.region, s.labels, s.changes,
    floor(extract(epoch FROM (r.waves -> s.wave - 1 ->> 'started_at')::timestamptz) * 1000)::float8
      AS wave_ms
  FROM rollout_sentinels AS s JOIN rollouts AS r ON r.id = s.rollout_id
  WHERE s.rollout_id = $1 AND s.sentinel_id > $2 AND (s.wave > 0 OR NOT starts_with(s.reason, 'pin '))
  ORDER BY s.sentinel_id LIMIT $3`;
