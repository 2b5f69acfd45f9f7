/** Compares a fleet with its desired images in Postgres, and stores and reads what differs. */
import type pg from "pg";
import type { DriftedSentinel, FleetDrift, OnDrift } from "#fleet/drift-contract.ts";
import { accountOfName, unknownAccount } from "#kernel/actor.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { leaveOut } from "#rollout/choice/leave-out.ts";
import { automatic } from "#rollout/handlers/stop.ts";
import { reconciler } from "#rollout/internal.ts";
import type { Listed } from "#rollout/row-store.ts";
import type { FormerRollout, HeldDrift } from "./converge.ts";
import {
  type Drift,
  findDrift,
  isBehind,
  type KnownMember,
  type NewestRollout,
  type PastResult,
  type PastRollout,
  type ReadResults,
  readDesired,
  relevantRollouts,
} from "./drift.ts";

export type Comparison = {
  drifts: HeldDrift[];
  /** By image: how its newest completed rollout was done. */
  formers: Map<string, FormerRollout>;
};

type CompareTerms = {
  pins: readonly Pin[];
  nowMs: number;
  /** A list that is older says nothing about now. */
  staleAfterMs: number;
  /** It has to be in history: else that is behind, as after a restore of Postgres. undefined: there was none. */
  newest: NewestRollout | undefined;
};

export type DesiredStore = ReturnType<typeof createDesiredStore>;

export function createDesiredStore(database: Database) {
  return {
    /** Returns null, and changes nothing, while the fleet's list is old or history is behind. */
    compare(fleet: string, terms: CompareTerms): Promise<Comparison | null> {
      return inTransaction(database, async (transaction) => {
        const listedAtMs = await readListTime(transaction, fleet, terms.staleAfterMs);
        if (listedAtMs === null) return null;
        const { rows } = await transaction.query(selectRollouts, [fleet, reconciler, automatic]);
        const past = rows.map(toPast);
        if (isBehind(past, terms.newest)) return null;
        const rollouts = relevantRollouts(past).map((one) => ({
          ...one,
          // History may not have it yet.
          isRollingBack: terms.newest?.id !== one.id || terms.newest.isRollingBack === true,
        }));
        const members = await readMembers(transaction, fleet);
        const read = createReadResults(transaction);
        const desired = await readDesired(members, { rollouts, read });
        const known = await readKnown(transaction, fleet);
        const found = findDrift(desired, members, { known, listedAtMs });
        const drifts = withHolds(found, { members, ...terms });
        await writeDrifts(transaction, fleet, drifts);
        return { drifts, formers: formersOf(rows) };
      });
    },

    /** Reads the images that the newest rollouts of a fleet have brought or replaced. */
    async readImages(fleet: string): Promise<string[]> {
      const { rows } = await database.query<{ image: string }>(selectImages, [fleet]);
      return rows.map(({ image }) => image);
    },

    /** Reads what `compare` has stored. */
    async read(
      fleet: string,
      { pins, onDrift }: { pins: readonly Listed<Pin>[]; onDrift: OnDrift },
    ): Promise<FleetDrift> {
      const { rows } = await database.query(selectDrift, [fleet]);
      const [head] = rows;
      const { leftOut } = leaveOut(rows, { pins, nowMs: Date.now() });
      const pinOf = new Map(leftOut.map(({ id, by }) => [id, pins.find((pin) => pin.id === by)]));
      return {
        on_drift: onDrift,
        checked_at: await readComparedAt(database, fleet),
        total: head?.total ?? 0,
        held: head?.held ?? 0,
        sentinels: rows.map((row) => toDrifted(row, pinOf.get(row.id))),
      };
    },
  };
}

async function readListTime(
  transaction: pg.PoolClient,
  fleet: string,
  staleAfterMs: number,
): Promise<number | null> {
  const { rows } = await transaction.query<{ asked_at: Date }>(
    `SELECT asked_at FROM fleet_lists
     WHERE fleet = $1 AND asked_at > clock_timestamp() - $2 * interval '1 millisecond'`,
    [fleet, staleAfterMs],
  );
  return rows[0]?.asked_at.getTime() ?? null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row with the columns of `selectRollouts`
type RolloutRow = any;

function toPast(row: RolloutRow): PastRollout {
  return {
    id: row.id,
    image: row.image,
    startedAtMs: row.started_at.getTime(),
    outcome: row.ended_at === null ? null : row.outcome,
    policy: row.policy,
    leftAllOut: row.total === 0 && row.left_out > 0,
    isUnattended: row.is_unattended,
  };
}

function formersOf(rows: readonly RolloutRow[]): Comparison["formers"] {
  const completed = rows.filter((row) => row.outcome === "completed" && !row.is_unattended);
  // The newest one of an image is written last.
  return new Map(
    completed
      .toReversed()
      .map(({ image, policy, gates, wave_percentages: wavePercentages, ...starter }) => [
        image,
        { policy, wavePercentages, gates: gates ?? [], starters: startersOf(starter) },
      ]),
  );
}

/** An account that is not known any more is nobody's. */
function startersOf({ accounts, started_by: by }: RolloutRow): string[] {
  const known = (accounts ?? []).filter((one: string) => one !== unknownAccount);
  return by === null ? known : [...known, accountOfName(by)];
}

async function readMembers(transaction: pg.PoolClient, fleet: string): Promise<KnownMember[]> {
  const { rows } = await transaction.query(selectMembers, [fleet]);
  return rows.map(({ joined_at, ...member }) => ({ ...member, joinedAtMs: joined_at.getTime() }));
}

function createReadResults(transaction: pg.PoolClient): ReadResults {
  return async (rollouts, members) => {
    const results = new Map<string, Map<string, PastResult>>();
    if (rollouts.length === 0) return results;
    const given = [rollouts, members].map((rows) => rows.map(({ id }) => id));
    const { rows } = await transaction.query(selectResults, given);
    for (const { rollout_id, sentinel_id, outcome, previous_image: previousImage } of rows) {
      const byId = results.get(rollout_id) ?? new Map<string, PastResult>();
      results.set(rollout_id, byId.set(sentinel_id, { outcome, previousImage }));
    }
    return results;
  };
}

async function readKnown(transaction: pg.PoolClient, fleet: string): Promise<Map<string, Drift>> {
  const { rows } = await transaction.query(
    `SELECT sentinel_id AS id, desired_image AS desired, running_image AS running, why, since,
       is_confirmed AS "isConfirmed" FROM fleet_drift WHERE fleet = $1`,
    [fleet],
  );
  return new Map(rows.map(({ since, ...row }) => [row.id, { ...row, sinceMs: since.getTime() }]));
}

function withHolds(
  drifts: readonly Drift[],
  { members, pins, nowMs }: CompareTerms & { members: readonly KnownMember[] },
): HeldDrift[] {
  const held = new Set(leaveOut(members, { pins, nowMs }).leftOut.map(({ id }) => id));
  return drifts.map((drift) => ({ ...drift, isHeld: held.has(drift.id) }));
}

async function writeDrifts(
  transaction: pg.PoolClient,
  fleet: string,
  drifts: readonly HeldDrift[],
): Promise<void> {
  const ids = drifts.map(({ id }) => id);
  await transaction.query(
    "DELETE FROM fleet_drift WHERE fleet = $1 OR sentinel_id = ANY($2::text[])",
    [fleet, ids],
  );
  await transaction.query(insertDrifts, [
    ids,
    drifts.map(({ desired }) => desired),
    drifts.map(({ running }) => running),
    drifts.map(({ why }) => why),
    drifts.map(({ sinceMs }) => new Date(sinceMs)),
    drifts.map(({ isConfirmed }) => isConfirmed),
    drifts.map(({ isHeld }) => isHeld),
    fleet,
  ]);
  await transaction.query("UPDATE fleet_lists SET compared_at = now() WHERE fleet = $1", [fleet]);
}

async function readComparedAt(database: Database, fleet: string): Promise<string | null> {
  const { rows } = await database.query<{ compared_at: Date | null }>(
    "SELECT compared_at FROM fleet_lists WHERE fleet = $1",
    [fleet],
  );
  return rows[0]?.compared_at?.toISOString() ?? null;
}

// biome-ignore lint/suspicious/noExplicitAny: a row with the columns of `selectDrift`
function toDrifted(row: any, pin: Listed<Pin> | undefined): DriftedSentinel {
  const { id, region, desired_image, running_image, why, since } = row;
  return {
    ...{ id, region, desired_image, running_image, why, since: since.toISOString() },
    ...(pin !== undefined && {
      held: { pin: pin.id, reason: pin.reason, by: pin.added_by, since: pin.added_at },
    }),
  };
}

/** Rollouts that are read: older ones count for no sentinel in practice. */
const maxRollouts = 50;

// Those that the reconciler has started may be many, and push no other out.
const selectRollouts = `
  SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY is_unattended ORDER BY started_at DESC, id DESC) AS place
    FROM (
      SELECT r.id, image, started_at, ended_at, outcome, policy, total, left_out, wave_percentages, gates,
        accounts, started_by,
        started_by IS NOT DISTINCT FROM $2 AND NOT EXISTS (
          SELECT FROM rollout_messages AS m WHERE m.rollout_id = r.id AND m.actor <> $3
            AND m.event IN ('rollback started', 'cancelled')) AS is_unattended
      FROM rollouts AS r WHERE fleet = $1) AS known) AS numbered
  WHERE place <= ${maxRollouts} ORDER BY started_at DESC, id DESC`;

const selectImages = `
  WITH newest AS (SELECT id, image, requested_image FROM rollouts WHERE fleet = $1
    ORDER BY started_at DESC, id DESC LIMIT ${maxRollouts})
  SELECT image FROM newest UNION SELECT requested_image FROM newest
  UNION SELECT previous_image FROM rollout_sentinels WHERE rollout_id IN (SELECT id FROM newest)`;

const selectMembers = `
  SELECT id, region, image, running_image, health, labels, joined_at FROM sentinels
  WHERE fleet = $1 AND deploy_status <> 'progressing' ORDER BY id`;

// Without those that the request has left out: of them the rollout says nothing.
const selectResults = `
  SELECT rollout_id, sentinel_id, outcome, previous_image FROM rollout_sentinels
  WHERE rollout_id = ANY($1) AND sentinel_id = ANY($2)
    AND (outcome IS DISTINCT FROM 'left_out' OR starts_with(reason, 'pin '))`;

const insertDrifts = `
  INSERT INTO fleet_drift
    (sentinel_id, desired_image, running_image, why, since, is_confirmed, is_held, fleet)
  SELECT *, $8::text FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[],
    $6::boolean[], $7::boolean[])`;

const maxListed = 1_000;

const selectDrift = `
  SELECT s.id, region, image, d.running_image, health, labels, desired_image, why, since,
    count(*) OVER ()::int AS total, count(*) FILTER (WHERE is_held) OVER ()::int AS held
  FROM fleet_drift AS d JOIN sentinels AS s ON s.id = d.sentinel_id AND s.fleet = d.fleet
  WHERE d.fleet = $1 AND is_confirmed ORDER BY since, s.id LIMIT ${maxListed}`;
