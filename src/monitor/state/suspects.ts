/** Names in an alert that opens what changed before it, by `src/blame/`. Pure. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { Blame, BlamedAlert, Suspect } from "#blame/contract.ts";
import { findPlaceholders } from "#kernel/secrets.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import type { ApiRow, Decided, Effects, HeartbeatRow, Row } from "./row.ts";
import type { ById } from "./rows.ts";

type Deciding = { id: string; before: { row: Row }; decided: Decided<Row>; effects: Effects };

/** `blame`: null: what changed could not be read in time. Then, and if no alert opens, nothing changes. */
export function nameSuspects<Of extends Deciding>(
  outcome: Of,
  { blame, definitions }: { blame: Blame | null; definitions: ById },
): Of {
  const { effects, decided } = outcome;
  const opened = effects.transitions.find(({ kind }) => kind === "opened");
  const alert = opened && toBlamed(outcome, { opened, definitions });
  if (blame === null || alert === undefined) return outcome;
  const changes = blame(alert);
  const isOpened = (event: AlertTransition | undefined) =>
    event?.kind === "opened" && event.episode === opened?.episode;
  const orders = effects.orders.map((one) => {
    const { transition } = one.order;
    if (transition === undefined || !isOpened(transition)) return one;
    return { ...one, order: { ...one.order, transition: { ...transition, changes } } };
  });
  const transitions = effects.transitions.map((one) => (isOpened(one) ? { ...one, changes } : one));
  return {
    ...outcome,
    decided: { ...decided, row: withChanges(decided.row, opened?.episode, changes) },
    effects: { ...effects, orders, transitions },
  };
}

/** Kept in the open alert, for channels that join it. */
function withChanges(row: Row, episode: number | undefined, changes: Suspect[]): Row {
  const { state } = row;
  if (state === null || state.alert === null || state.alert.episode !== episode) return row;
  return { ...row, state: { ...state, alert: { ...state.alert, changes } } } as Row;
}

type Opening = { opened: AlertTransition; definitions: ById };

/** undefined: the row was removed, or became one of the other kind. */
function toBlamed(
  { id, before, decided: { row } }: Deciding,
  { opened, definitions }: Opening,
): BlamedAlert | undefined {
  if (row.kind === "api") {
    const check = definitions.apiChecks.get(id);
    return check && ofCheck(check, { row, before: before.row, opened });
  }
  const heartbeat = definitions.heartbeats.get(id);
  return heartbeat && ofHeartbeat(heartbeat, row, opened);
}

type OfCheck = { row: ApiRow; before: Row; opened: AlertTransition };

function ofCheck(check: ApiCheck, { row, before, opened }: OfCheck): BlamedAlert {
  const kind = kindOf(check);
  const failedAtMs = failedSince(row, opened);
  const periodAgoMs = failedAtMs - check.frequencySeconds * 1_000;
  const wasGood = before.state?.status === "ok" || before.state?.status === "degraded";
  const lastRunMs = before.kind === "api" ? before.state.decidedRunMs : null;
  const usesOurs = kind.hostsOf(check, `http://${ourHost}`).includes(ourHost);
  const secrets = findPlaceholders(check).map(({ name }) => name);
  return {
    goodAtMs: Math.min((wasGood ? lastRunMs : null) ?? periodAgoMs, failedAtMs),
    failedAtMs,
    place: {
      names: [check.id, check.name, kind.describe(check).path, ...opened.locations],
      check: [check.id],
      key: secrets.some((name) => name === "KEY" || name === "ROOT_KEY") ? ["own"] : [],
      part: usesOurs ? ["worker", "api"] : ["worker"],
      delivery: [],
    },
  };
}

/** Stands for the address of our own API. */
const ourHost = "our-api.invalid";

function ofHeartbeat(
  heartbeat: Heartbeat,
  row: HeartbeatRow,
  opened: AlertTransition,
): BlamedAlert {
  const { id, name, watches, job, drill } = heartbeat;
  const failedAtMs = failedSince(row, opened);
  const { lastPingAtMs = null, createdAtMs = failedAtMs } = row.state ?? {};
  return {
    goodAtMs: Math.min(lastPingAtMs ?? createdAtMs, failedAtMs),
    failedAtMs,
    place: {
      names: [id, name, watches],
      check: [id],
      key: [],
      part: job === undefined && drill === undefined ? ["control"] : ["worker"],
      delivery: drill === undefined ? [] : ["routes"],
    },
  };
}

/** It may have failed for several runs, or muted for hours, before the alert opened. */
function failedSince({ state }: Row, { atMs }: AlertTransition): number {
  return state?.status === "failed" ? Math.min(state.sinceMs, atMs) : atMs;
}
