/**
 * Alerts while Postgres is away: API checks are decided in memory, each by the process that decided it last, and their
 * events are sent without a queue. When it is back Postgres takes over the alerts and queues the same events, by the
 * same ids: a receiver may have missed one. Heartbeats wait: no ping can be taken, which is not blamed on their jobs.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { QueuedOrder } from "#alerts/outbox.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { inTime } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import type { ApiCheck, Definitions, ReadDefinitions } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import type { ChangeRow } from "./evaluate.ts";
import { type CheckSettings, dependencyOfCheck, evaluateCheck } from "./evaluate-check.ts";
import { type ApiRow, type Effects, type Moment, newEffects, type Row } from "./row.ts";

export type OutageParts = {
  readDefinitions: ReadDefinitions;
  whyOff: WhyOff;
  settings: Omit<CheckSettings, "further">;
  /** Makes a run at this location and hands its report over. It is not awaited. */
  probe: (
    check: ApiCheck,
    scheduledAtMs: number,
    report: (checkId: string, report: Report) => Promise<void>,
  ) => void;
  /** One attempt at a channel. */
  sendNow: SendNow;
  change: (id: string, change: ChangeRow) => Promise<unknown>;
  log: Log;
  /** How long Postgres has to be away. A restart, or the change to a standby, takes less than the default. */
  outageLimitMs?: number;
  nowMs?: () => number;
};

export type Outage = ReturnType<typeof createOutage>;

/** A check that is decided here. */
type Held = {
  /** As Postgres has it. */
  base: ApiRow;
  row: ApiRow;
  /** The effects of its decisions since. */
  effects: Effects;
};

export function createOutage(parts: OutageParts) {
  const { log, outageLimitMs = 30_000, nowMs = Date.now } = parts;
  const { findCurrent, ...memory } = createMemory();
  const held = new Map<string, Held>();
  let sinceMs: number | undefined;
  let isActive = false;
  let isDeciding = false;
  let definitions: Definitions | undefined;
  const send = createSendInOrder({ ...parts, isWanted: () => isActive });

  const decide = (check: ApiCheck, reports: readonly Report[]) => {
    const before = held.get(check.id);
    if (before === undefined || !isActive) return;
    const effects = newEffects();
    const isOff = parts.whyOff(check).length > 0;
    const input = { ...parts.settings, further: [], check, isOff, reports };
    const dependencyOf = createDependencyOf({ held, definitions, nowMs: nowMs() });
    const moment = { nowMs: nowMs(), rollout: null, dependencyOf, effects };
    const { row } = evaluateCheck(check.id, before.row, input, moment);
    before.row = row;
    before.effects.transitions.push(...effects.transitions);
    before.effects.orders.push(...effects.orders);
    follow(effects);
  };
  const follow = ({ orders, probes }: Effects) => {
    send(orders);
    for (const { check, scheduledAtMs } of probes) {
      parts.probe(check, scheduledAtMs, async (_id, report) => decide(check, [report]));
    }
  };
  const activate = () => {
    if (isActive) return;
    isActive = true;
    if (held.size > 0) return;
    for (const [id, row] of findCurrent()) {
      held.set(id, { base: row, row, effects: newEffects() });
    }
    log.error("the database is away: API checks are decided and alerted from memory");
  };
  const turn = async () => {
    // One that comes later counts the next time.
    const read = async () => {
      definitions = await parts.readDefinitions();
    };
    await inTime(read, { limitMs: 500, otherwise: undefined });
    for (const check of definitions?.apiChecks ?? []) decide(check, []);
  };
  const handBack = async (id: string, one: Held) => {
    if (one.effects.transitions.length + one.effects.orders.length === 0) return;
    await parts.change(id, takeOver({ ...one }));
    // Another one may fail, and Postgres be away again.
    Object.assign(one, { base: one.row, effects: newEffects() });
  };
  return {
    ...memory,

    /** Called about every second while Postgres cannot be asked. */
    failed(): void {
      sinceMs ??= nowMs();
      if (nowMs() - sinceMs < outageLimitMs || isDeciding) return;
      activate();
      isDeciding = true;
      turn()
        .catch((err) => log.error({ err }, "checks not decided from memory"))
        .finally(() => {
          isDeciding = false;
        });
    },

    /** Called when Postgres answers again, before it decides. Throws if it does not take over what was decided here. */
    async over(): Promise<void> {
      isActive = false;
      await Promise.all([...held].map(([id, one]) => handBack(id, one)));
    },

    /** Called once Postgres has decided: one that answers, but cannot be written, is away still. */
    settled(): void {
      held.clear();
      sinceMs = undefined;
    },
  };
}

/** The rows of API checks as this process decided them last. */
function createMemory() {
  const known = new Map<string, ApiRow>();
  let decidedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    /** Called with the rows of each transaction, once it is committed. */
    remember(decided: readonly { id: string; row: Row }[]): void {
      for (const { id, row } of decided) if (row.kind === "api") known.set(id, row);
    },

    /** Called when no row of any process was due at this time of Postgres. */
    allDecided(atMs: number): void {
      decidedUntilMs = atMs;
    },

    /** Without those that another process has decided since: it knows of their alerts, and whether they are muted. */
    findCurrent: () =>
      [...known].filter(([, { timer }]) => timer !== null && timer.dueMs > decidedUntilMs),
  };
}

type Dependencies = {
  held: ReadonlyMap<string, Held>;
  definitions: Definitions | undefined;
  nowMs: number;
};

/** Answers for API checks: how heartbeats stand is not known here. */
function createDependencyOf({ held, definitions, nowMs }: Dependencies): Moment["dependencyOf"] {
  return (id, sinceMs) => {
    const check = definitions?.apiChecks.find((one) => one.id === id);
    const row = held.get(id)?.row;
    if (check === undefined || row === undefined) return null;
    return dependencyOfCheck(row, check, { sinceMs, nowMs });
  };
}

/** Leaves a row that another process has decided since: its alert may be another one by now. */
function takeOver({ base, row: decided, effects: { transitions, orders } }: Held): ChangeRow {
  return (row, { effects: all }) => {
    const isSame =
      row.kind === "api" &&
      row.state.episodes === base.state.episodes &&
      row.state.alert?.episode === base.state.alert?.episode;
    if (!isSame) return row;
    all.transitions.push(...transitions);
    all.orders.push(...orders);
    return { ...row, state: decided.state, addressee: decided.addressee };
  };
}

export type SendNow = (order: QueuedOrder["order"]) => Promise<Outcome>;

type Parts = {
  sendNow: SendNow;
  /** False once Postgres delivers again, which sends what is left. */
  isWanted: () => boolean;
  log: Log;
};

const mostAttempts = 100;
const retryMs = 5_000;

function createSendInOrder({ sendNow, isWanted, log }: Parts) {
  const sending = new Map<string, Promise<void>>();
  const send = async (before: Promise<void> | undefined, order: QueuedOrder["order"]) => {
    await before;
    for (let attempts = 0; attempts < mostAttempts && isWanted(); attempts += 1) {
      const outcome = await sendNow(order).catch(
        (error: Error): Outcome => ({ kind: "retry", cause: error.message }),
      );
      if (outcome.kind !== "retry") return;
      log.warn({ cause: outcome.cause }, "alert event not sent from memory yet");
      await delay(outcome.afterMs ?? retryMs);
    }
  };
  return (orders: readonly QueuedOrder[]): void => {
    for (const { queue, order } of orders) sending.set(queue, send(sending.get(queue), order));
  };
}
