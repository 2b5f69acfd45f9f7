/** Reads a rollout and its fleet at one moment, for pages that show both. */
import type { Moment, ReadMoment } from "#console/moment.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { createFleetReader } from "#fleet/reader.ts";
import { type Database, inSnapshot, type Queries } from "#kernel/database.ts";
import { createRolloutReader } from "#rollout/history/reader.ts";

type Request = Parameters<ReadMoment>[0];

export function createReadMoment(database: Database): ReadMoment {
  return (asked) =>
    inSnapshot(database, async (snapshot) => {
      const { limitMs } = asked;
      if (limitMs !== undefined) await snapshot.query(`SET LOCAL statement_timeout = ${limitMs}`);
      return readAll(snapshot, asked);
    });
}

async function readAll(snapshot: Queries, { rolloutId, fleet }: Request): Promise<Moment> {
  const rollouts = createRolloutReader(snapshot);
  const recorded = rolloutId === null ? undefined : await rollouts.recorded(rolloutId);
  const name = fleet ?? recorded?.status.fleet ?? defaultFleet;
  const startedAt = recorded?.status.started_at ?? null;
  return {
    recorded,
    members: rolloutId === null ? [] : await rollouts.members(rolloutId),
    fleet: await createFleetReader(snapshot).all(name, startedAt),
  };
}
