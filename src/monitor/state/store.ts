/**
 * Decides checks and heartbeats: locks their rows, decides them by pure functions, and writes rows, results, episodes
 * and alert events in one transaction, so that each transition makes exactly one event, whatever is killed when.
 * Reports, pings and operators' changes that come together share a transaction. The time is Postgres'.
 */
import { enqueue, goOn } from "#alerts/outbox.ts";
import { type Database, inTransaction, type Queries } from "#kernel/database.ts";
import { isOfData } from "#kernel/database-faults.ts";
import { createGroups } from "#kernel/groups.ts";
import type { ApiCheck, ReadDefinitions } from "#monitor/contract.ts";
import {
  addPing,
  deleteUrls,
  dropPings,
  saveWatched,
  takePings,
  waitingIds,
} from "#monitor/heartbeat/inbox.ts";
import { readAbsences } from "#monitor/heartbeat/presence.ts";
import type { Report } from "#monitor/internal.ts";
import { withPartitions } from "#monitor/results/partitions.ts";
import { type Written, writeEffects } from "#monitor/results/record.ts";
import {
  type ChangeRow,
  type EvaluateParts,
  evaluateAll,
  type Input,
  type Known,
  type Outcome,
} from "./evaluate.ts";
import { isWatched } from "./evaluate-heartbeat.ts";
import type { Row } from "./row.ts";
import { indexOf, lockDue, lockRows, saveRows } from "./rows.ts";
import { recordSpans, traceOrders } from "./spans.ts";

export type StateParts = EvaluateParts & {
  database: Database;
  readDefinitions: ReadDefinitions;
  /** The further locations whose reports a run waits for. */
  readFurther: () => Promise<readonly string[]>;
  /** Makes a run at this location. It is not awaited. */
  probe: (check: ApiCheck, scheduledAtMs: number) => void;
  /** Called after a commit with which alert events were enqueued. */
  wakeDelivery: () => void;
  /** Called after a commit. */
  count: (written: Written) => void;
  /** Called with the rows after a commit. */
  remember: (rows: readonly { id: string; row: Row }[]) => void;
};

/** The row as it was decided; undefined: there is none, and no definition. */
type Answer = { row: Row | undefined } | { refused: unknown };

export type States = ReturnType<typeof createStates>;

export function createStates(parts: StateParts) {
  const { database, log } = parts;
  const decideGroup = createGroups<Input, Answer>(
    (inputs) => decideIn(parts, { inputs }).then(({ answers }) => answers),
    { failsAlone: true },
  );
  const decide = async (input: Input): Promise<Row | undefined> => {
    const answer = await decideGroup(input);
    if ("refused" in answer) throw answer.refused;
    return answer.row;
  };
  const decideAll = async (ids: readonly string[]): Promise<void> => {
    await Promise.all(ids.map((id) => decide({ id })));
  };
  return {
    /** Takes the results of a location. */
    report: async (id: string, report: Report): Promise<void> =>
      void (await decide({ id, report })),
    /** Does what is due by now, and takes waiting pings. */
    decide: async (id: string): Promise<void> => void (await decide({ id })),
    /** Applies an operator's change. Returns the row after it; undefined: nothing has this id. */
    change: (id: string, change: ChangeRow) => decide({ id, change }),

    /** Decides rows whose time has come, some hundred at most; returns their number. Other processes take others. */
    async decideDue(): Promise<number> {
      const taken: string[] = [];
      try {
        await decideIn(parts, { taken });
      } catch (error) {
        if (!isOfData(error)) throw error;
        for (const id of taken) await decideAlone(id);
      }
      return taken.length;
    },

    /** Takes pings that a process has written and not decided, since it was killed. */
    async decideWaiting(): Promise<void> {
      await decideAll(await waitingIds(database));
    },

    /** Ms until a row is due; null: none will be. `nowMs`: the time of Postgres. */
    async untilNext(): Promise<{ inMs: number | null; nowMs: number }> {
      const { rows } = await database.query<{ in_ms: number | null; now_ms: number }>(untilNext);
      const [row] = rows;
      return { inMs: row?.in_ms ?? null, nowMs: row?.now_ms ?? 0 };
    },

    decideAll: followDefinitions,
  };

  /** Decides all that is defined and starts it, and ends what is not any more. */
  async function followDefinitions(): Promise<void> {
    const { apiChecks, heartbeats } = await parts.readDefinitions({ isFresh: true });
    // Either may have been a heartbeat with a ping URL.
    const unpinged = [...apiChecks, ...heartbeats.filter(({ drill }) => drill !== undefined)];
    await deleteUrls(
      database,
      unpinged.map(({ id }) => id),
    );
    await dropPings(
      database,
      apiChecks.map(({ id }) => id),
    );
    const { rows } = await database.query<{ id: string }>("SELECT id FROM check_states");
    await decideAll([...new Set([...rows, ...apiChecks, ...heartbeats].map(({ id }) => id))]);
  }

  /** One that cannot be written is tried again in a minute, so that it holds up no other. */
  async function decideAlone(id: string): Promise<void> {
    try {
      await decideIn(parts, { inputs: [{ id }], isDue: true });
    } catch (error) {
      if (!isOfData(error)) throw error;
      log.error({ check: id, detail: (error as Error).message }, "check not decided");
      await database.query(postpone, [id]);
    }
  }
}

const untilNext = `
  SELECT extract(epoch FROM (SELECT min(wake_at) FROM check_states) - clock_timestamp())::float8 * 1000 AS in_ms,
    extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms`;

const postpone =
  "UPDATE check_states SET wake_at = clock_timestamp() + interval '1 min' WHERE id = $1";

/** `taken`: gets the ids of the rows that are due. */
type Asked = { inputs: readonly Input[]; isDue?: true } | { taken: string[] };

/** Creates the partition of a result whose month has none, and decides again. */
async function decideIn(parts: StateParts, asked: Asked) {
  const timesMs: number[] = [];
  const inputs = "inputs" in asked ? asked.inputs : [];
  for (const { report } of inputs) timesMs.push(...(report ? [report.scheduledAtMs] : []));
  const done = await withPartitions(parts.database, {
    timesMs,
    write: () => inTransaction(parts.database, (tx) => decideOnce(tx, parts, { asked, timesMs })),
  });
  parts.count(done.written);
  parts.remember(done.rows);
  recordSpans(done.effects);
  if (done.effects.orders.length + done.effects.goOn.length > 0) parts.wakeDelivery();
  for (const { check, scheduledAtMs } of done.effects.probes) parts.probe(check, scheduledAtMs);
  return done;
}

type Attempt = { asked: Asked; timesMs: number[] };

async function decideOnce(tx: Queries, parts: StateParts, { asked, timesMs }: Attempt) {
  const inputs = "inputs" in asked ? asked.inputs : [];
  const { rows, known } = await load(tx, parts, asked);
  if ("taken" in asked) asked.taken.splice(0, Infinity, ...rows.map(({ id }) => id));
  const { effects, outcomes } = await evaluateAll(tx, { parts, rows, known });
  timesMs.push(...[...known.pings.values()].flatMap(({ pings }) => pings.map(({ atMs }) => atMs)));
  await saveRows(tx, outcomes);
  await saveWatches(tx, outcomes, known.pings);
  const written = await writeEffects(tx, effects);
  const orders = traceOrders(effects);
  await enqueue(tx, orders);
  if (effects.goOn.length > 0) await goOn(tx, effects.goOn);
  const byId = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  return {
    effects: { ...effects, orders },
    written,
    answers: inputs.map((input) => answerTo(input, byId.get(input.id))),
    rows: outcomes.map(({ id, decided }) => ({ id, row: decided.row })),
  };
}

/** Locks the rows and reads what their decisions need. */
async function load(tx: Queries, parts: StateParts, asked: Asked) {
  const inputs = "inputs" in asked ? asked.inputs : [];
  const further = await parts.readFurther();
  // Read once the rows are locked: a process that still knew former definitions would undo what others followed.
  const readDefinitions = async () => indexOf(await parts.readDefinitions({ isFresh: true }));
  const { rows, nowMs, definitions } =
    "inputs" in asked
      ? await lockRows(tx, idsOf(inputs), readDefinitions)
      : await lockDue(tx, readDefinitions);
  const heartbeats = rows.filter(({ row }) => row.kind === "heartbeat").map(({ id }) => id);
  // Only what is due may find that a deadline has passed.
  const isDue = "taken" in asked || asked.isDue === true;
  const known: Known = {
    definitions,
    inputs: Map.groupBy(inputs, ({ id }) => id),
    nowMs,
    absences: isDue && heartbeats.length > 0 ? await readAbsences(tx) : null,
    further,
    // Last: pings of these heartbeats wait from now on.
    pings: heartbeats.length > 0 ? await takePings(tx, heartbeats) : new Map(),
    rollout: undefined,
    blame: null,
    others: new Map(),
  };
  return { rows, known };
}

/** Begins or ends the watch of heartbeats; puts back the pings of those that could not be decided. */
async function saveWatches(tx: Queries, outcomes: readonly Outcome[], held: Known["pings"]) {
  const byFailure = Map.groupBy(outcomes, ({ isFailed = false }) => isFailed);
  for (const { id } of byFailure.get(true) ?? []) {
    for (const ping of held.get(id)?.pings ?? []) await addPing(tx, id, ping);
  }
  const watches = (byFailure.get(false) ?? []).flatMap(({ id, decided: { row } }) =>
    row.kind === "heartbeat" && held.get(id)?.hasUrl === true
      ? { id, isWatched: isWatched(row), lastPingAtMs: row.state?.lastPingAtMs ?? null }
      : [],
  );
  await saveWatched(tx, watches);
}

function answerTo(input: Input, outcome: Outcome | undefined): Answer {
  const isLost = outcome?.isFailed && (input.change ?? input.report) !== undefined;
  const refused = isLost ? new Error("the check is not decided") : outcome?.refused.get(input);
  return refused === undefined ? { row: outcome?.decided.row } : { refused };
}

function idsOf(inputs: readonly Input[]): string[] {
  return [...new Set(inputs.map(({ id }) => id))];
}
