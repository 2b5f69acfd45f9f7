/** Reads how checks and heartbeats stand: from their rows, their definitions and the last pings. */
import { z } from "zod";
import type { Queries } from "#kernel/database.ts";
import {
  type CheckSnapshot,
  CheckState,
  type Definitions,
  type Heartbeat,
  HeartbeatState,
  Quiet,
} from "#monitor/contract.ts";
import { dueAtMs, withLastPing } from "#monitor/rules/deadline.ts";
import { expectedAtMs } from "#monitor/rules/occurrences.ts";

/** By id, of what is defined; `ids`: of these alone. Skips a row that cannot be parsed: of a later version. */
export async function readSnapshots(
  database: Queries,
  { apiChecks, heartbeats }: Pick<Definitions, "apiChecks" | "heartbeats">,
  ids: readonly string[] | null = null,
): Promise<Map<string, CheckSnapshot>> {
  const defined = {
    apiChecks: new Set(apiChecks.map(({ id }) => id)),
    heartbeats: new Map(heartbeats.map((heartbeat) => [heartbeat.id, heartbeat])),
  };
  const { rows } = await database.query<Stored>(selectStates, [ids]);
  const snapshots = rows.flatMap((stored) => {
    const row = ShownRow.safeParse(stored).data;
    const lastPingAtMs = stored.last_ping_at?.getTime() ?? null;
    return (row && toSnapshot({ id: stored.id, row, lastPingAtMs }, defined)) ?? [];
  });
  return new Map(snapshots.map((snapshot) => [snapshot.checkId, snapshot]));
}

type Stored = { id: string; last_ping_at: Date | null };

const selectStates = `
  SELECT s.id, s.kind, s.row->'state' AS state, s.row->'quiet' AS quiet, h.last_ping_at
  FROM check_states s LEFT JOIN heartbeats h USING (id)
  WHERE $1::text[] IS NULL OR s.id = ANY ($1)`;

/** The part of a row of `state/row.ts` that is shown. */
const ShownRow = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("api"), state: CheckState, quiet: Quiet }),
  z.object({ kind: z.literal("heartbeat"), state: HeartbeatState.nullable(), quiet: Quiet }),
]);
type ShownRow = z.infer<typeof ShownRow>;
type ShownOf<Kind extends ShownRow["kind"]> = Extract<ShownRow, { kind: Kind }>;

type Known = {
  id: string;
  row: ShownRow;
  /** The last success of a heartbeat, which its row may not have; null: none. */
  lastPingAtMs: number | null;
};

type Defined = { apiChecks: ReadonlySet<string>; heartbeats: ReadonlyMap<string, Heartbeat> };

/** undefined: nothing of this kind is defined, or there is nothing to show yet. */
export function toSnapshot(
  { id, row, lastPingAtMs }: Known,
  { apiChecks, heartbeats }: Defined,
): CheckSnapshot | undefined {
  if (row.kind === "api") return apiChecks.has(id) ? ofApiCheck(id, row) : undefined;
  const heartbeat = heartbeats.get(id);
  return heartbeat && ofHeartbeat(heartbeat, row, lastPingAtMs);
}

function ofApiCheck(checkId: string, { state, quiet }: ShownOf<"api">): CheckSnapshot {
  const { status, sinceMs, decidedRunMs, alert, suppressed, locations } = state;
  const reporting = Object.values(locations).filter(({ isSilent }) => !isSilent);
  const durationsMs = reporting.map(({ durationMs }) => durationMs);
  return {
    checkId,
    kind: "api",
    status,
    sinceMs,
    lastAtMs: decidedRunMs,
    lastDurationMs: durationsMs.length === 0 ? null : Math.max(...durationsMs),
    dueAtMs: null,
    alert,
    suppressed,
    quiet,
    locations,
  };
}

/** Nobody pings it yet: it has no deadline. */
const withoutState = {
  status: "paused",
  sinceMs: null,
  lastAtMs: null,
  lastDurationMs: null,
  dueAtMs: null,
  alert: null,
  suppressed: null,
} as const;

function ofHeartbeat(
  heartbeat: Heartbeat,
  { state: stored, quiet }: ShownOf<"heartbeat">,
  lastPingAtMs: number | null,
): CheckSnapshot | undefined {
  const common = { checkId: heartbeat.id, kind: "heartbeat", quiet, locations: {} } as const;
  if (stored === null) {
    const isQuiet = quiet.mutedUntilMs !== null || quiet.maintenance.length > 0;
    return isQuiet ? { ...common, ...withoutState } : undefined;
  }
  // A ping of one that is ok does not change its row.
  const state = stored.status === "ok" ? withLastPing(heartbeat, stored, lastPingAtMs) : stored;
  const { status, sinceMs, lastDurationMs, alert, suppressed } = state;
  const hasDeadline = alert === null && status !== "paused";
  return {
    ...common,
    status,
    sinceMs,
    lastAtMs: state.lastPingAtMs,
    lastDurationMs,
    dueAtMs: hasDeadline ? dueAtMs(heartbeat, state) : null,
    ...(heartbeat.schedule && { expectedAtMs: expectedAtMs(heartbeat, state) }),
    alert,
    suppressed,
  };
}
