/** Makes proofs from history and stores them: a stored one never changes, whatever becomes of the rows it was made from. */
import { createHash } from "node:crypto";
import { type Database, inSnapshot, type Queries } from "#kernel/database.ts";
import { Envelope, signEnvelope } from "#kernel/dsse.ts";
import { parseImageReference } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { RolloutEvent } from "#rollout/rules/messages.ts";
import {
  type ProofProblemCode,
  type ProofStatement,
  payloadType,
  RolloutProof,
  statementTypes,
} from "./contract.ts";
import { readSigningKey } from "./keys.ts";

export type ProofStore = ReturnType<typeof createProofStore>;

export function createProofStore(database: Database, nowMs: () => number) {
  return {
    /**
     * The proof of a rollout as it is now; made and stored by the first call, the same bytes from then on. Results that
     * arrive after the end make another one, with a greater revision.
     */
    async ensure(rolloutId: string): Promise<Envelope> {
      const key = await readSigningKey(database);
      const made = await inSnapshot(database, async (snapshot) => {
        const row = await readEnded(snapshot, rolloutId);
        if (row.envelope !== null) return row;
        const statement = toStatement(await readProof(snapshot, row, nowMs()));
        const envelope = signEnvelope(payloadType, JSON.stringify(statement), key);
        return { sequence: row.sequence, envelope: JSON.stringify(envelope), isNew: true };
      });
      const stored = made.isNew ? await store(database, rolloutId, made) : made.envelope;
      return Envelope.parse(JSON.parse(stored));
    },
  };
}

/** Returns the one that is stored: of several processes at once that of the first. */
async function store(
  database: Database,
  rolloutId: string,
  { sequence, envelope }: { sequence: string; envelope: string },
): Promise<string> {
  await database.query(
    `INSERT INTO rollout_proofs (rollout_id, sequence, envelope) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING`,
    [rolloutId, sequence, envelope],
  );
  const { rows } = await database.query<{ envelope: string }>(
    "SELECT envelope FROM rollout_proofs WHERE rollout_id = $1 AND sequence = $2",
    [rolloutId, sequence],
  );
  return rows[0]?.envelope ?? envelope;
}

/** A row as the database driver returns it, with the columns of its query. */
// biome-ignore lint/suspicious/noExplicitAny: its shape is that of the query
type Row = any;

/** The transitions after which nothing follows by itself. */
const ends: readonly string[] = [
  "completed",
  "cancelled",
  "rollback completed",
  "fault found",
] satisfies RolloutEvent[];

/** Throws a `ProblemError` for a rollout that is unknown, or has not ended. */
async function readEnded(database: Queries, rolloutId: string): Promise<Row> {
  const [row] = (await database.query(selectRollout, [rolloutId])).rows as Row[];
  if (row === undefined) {
    const detail = `there is no rollout ${rolloutId}: vedette rollout history lists their ids`;
    throw refuse(404, "unknown_rollout", detail);
  }
  // The row is written before its message, without which the proof would lack its end.
  if (row.ended_at !== null && ends.includes(row.last_event)) return row;
  const detail = `it has not ended (${row.state}): its proof is made then; vedette rollout watch follows it`;
  throw refuse(409, "not_ended", detail);
}

function refuse(status: number, code: ProofProblemCode, detail: string) {
  return new ProblemError<ProofProblemCode>({ status, code, detail });
}

async function readProof(database: Queries, row: Row, nowMs: number): Promise<RolloutProof> {
  const id = [row.id];
  const counts = (await database.query(selectCounts, id)).rows as Row[];
  const failures = (await database.query(selectFailures, id)).rows as Row[];
  const events = (await database.query(selectEvents, id)).rows as Row[];
  const previous_images = (await database.query(selectImages, id)).rows as Row[];
  const { wave_percentages, fleet_size, total, left_out } = row;
  return RolloutProof.parse({
    rollout_id: row.id,
    revision: Number(row.sequence),
    ...{ installation: row.installation, fleet: row.fleet },
    ...{ requested_image: row.requested_image, image: row.image, outcome: row.outcome },
    ...(row.cause !== null && { cause: row.cause }),
    ...(row.reason !== null && { reason: row.reason }),
    started_by: row.started_by,
    ...(row.ci_run !== null && { ci_run: row.ci_run }),
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at.toISOString(),
    signed_at: new Date(nowMs).toISOString(),
    ci: row.ci ?? [],
    ...{ policy: row.policy, gates: row.gates ?? [] },
    plan: { wave_percentages, fleet_size, total, left_out, previous_images },
    approvals: row.approved ?? [],
    waves: (row.waves as Row[]).map((wave, i) => toWave(row, { ...wave, wave: i + 1 }, counts)),
    failures,
    events: events.toReversed().map(({ at, ...event }) => ({ ...event, at: at.toISOString() })),
  });
}

function toWave({ wave_gates: gates }: Row, wave: Row, counts: readonly Row[]) {
  const count = (outcome: string) =>
    counts.find((one) => one.wave === wave.wave && one.outcome === outcome)?.sentinels ?? 0;
  const [succeeded, failed] = [count("succeeded"), count("failed")];
  const [reverted, not_reverted] = [count("reverted"), count("not_reverted")];
  const unfinished = wave.size - succeeded - failed - reverted - not_reverted;
  const read = gates[wave.wave];
  const results = { succeeded, failed, reverted, not_reverted, unfinished };
  return { ...wave, ...results, ...(read !== undefined && { gates: read }) };
}

/** The subject of an image without a digest is its name, by a digest that no tool takes for one of content. */
function toStatement(predicate: RolloutProof): ProofStatement {
  const { registry, repository, digest } = parseImageReference(predicate.image) ?? {};
  const [algorithm = "", hex = ""] = digest?.split(":") ?? [];
  const subject =
    hex === ""
      ? { name: predicate.image, digest: { imageReference: sha256(predicate.image) } }
      : { name: `${registry}/${repository}`, digest: { [algorithm]: hex } };
  const { _type, predicateType } = statementTypes;
  return { _type, subject: [subject], predicateType, predicate };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const selectRollout = `
  SELECT r.*, (SELECT id FROM installation) AS installation,
    (SELECT event FROM rollout_messages WHERE rollout_id = r.id ORDER BY sequence DESC LIMIT 1)
      AS last_event,
    (SELECT envelope FROM rollout_proofs WHERE rollout_id = r.id AND sequence = r.sequence) AS envelope
  FROM rollouts AS r WHERE r.id = $1`;

const selectCounts = `
  SELECT wave, outcome, count(*)::integer AS sentinels FROM rollout_sentinels
  WHERE rollout_id = $1 AND outcome IS NOT NULL GROUP BY wave, outcome`;

const selectFailures = `
  SELECT sentinel_id AS id, wave, outcome, failure AS reason FROM rollout_sentinels
  WHERE rollout_id = $1 AND failure IS NOT NULL ORDER BY wave, sentinel_id LIMIT 100`;

const selectEvents = `
  SELECT event, at, actor AS by, message -> 'lines' AS lines FROM rollout_messages
  WHERE rollout_id = $1 ORDER BY sequence DESC LIMIT 1000`;

const selectImages = `
  SELECT previous_image AS image, count(*)::integer AS sentinels FROM rollout_sentinels
  WHERE rollout_id = $1 AND wave > 0 GROUP BY previous_image ORDER BY 2 DESC, 1 LIMIT 100`;
