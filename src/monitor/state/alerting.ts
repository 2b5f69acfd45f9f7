/**
 * Follows an alert that opens, ends, or whose check gets other channels, by events for whom they are meant.
 * Pure: the events are added to the effects of the decision, which are written with the row or not at all.
 */
import { type AlertTransition, formatEventId } from "#alerts/contract.ts";
import { routeOrder } from "#alerts/order.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { spansOfChange } from "#monitor/rules/suppression.ts";
import { describeEvent, resolve } from "#monitor/rules/verdict.ts";
import {
  type Addressee,
  type ChannelChange,
  compareChannels,
  endReasonOf,
  joiningOf,
  queueKeyOf,
  type Target,
  targetsOf,
  withoutTargets,
} from "./addressee.ts";
import type { Effects, Row } from "./row.ts";

type AlertingCheck = Addressee & Pick<ApiCheck | Heartbeat, "id">;

/** Adds the event of a transition for each channel, and the transition itself. Returns the row with its addressee. */
export function applyTransition<Of extends Row>(
  row: Of,
  check: AlertingCheck,
  { transition, effects }: { transition: AlertTransition | null; effects: Effects },
): Of {
  if (transition === null) return row;
  effects.transitions.push(transition);
  const isOpened = transition.kind === "opened";
  // A recovery goes to the channels of the failure, which may not be those of the check yet.
  const { channel, directChannels, joinings } = row.addressee ?? check;
  const receivers = isOpened
    ? check
    : { ...check, channel, directChannels, joinings: joinings ?? {} };
  for (const target of targetsOf(receivers)) send(effects, { ...receivers, target }, transition);
  return { ...row, addressee: isOpened ? addresseeOf(check) : null };
}

function addresseeOf({ name, environment, channel, directChannels = [] }: Addressee): Addressee {
  return { name, environment, channel, directChannels };
}

function send(
  effects: Effects,
  { id, name, environment, joinings = {}, target }: AlertingCheck & { target: Target },
  transition: AlertTransition,
): void {
  const queue = queueKeyOf(id, target);
  const { episode, kind } = transition;
  const eventId = formatEventId({ queue, episode, joining: joiningOf(joinings, queue), kind });
  const where = typeof target === "string" ? { channel: target } : { channel: null, target };
  const order = routeOrder({ transition: { ...transition, eventId }, environment, ...where, name });
  if (order !== null) effects.orders.push({ queue, order });
}

type At = { nowMs: number; effects: Effects };

/** Ends an open alert of a check that did not recover. Without one nothing changes. */
export function endAlert<Of extends Row>(
  row: Of,
  { id, endedBecause }: { id: string; endedBecause: string },
  { nowMs, effects }: At,
): Of {
  if (row.state === null || row.state.alert === null) return row;
  const ending = { checkId: id, atMs: nowMs, missedPings: null, endedBecause };
  const { state, transition } = resolve(row.state, ending);
  const ended = { ...row, state };
  if (row.addressee !== null) {
    return applyTransition(ended, { id, ...row.addressee }, { transition, effects });
  }
  if (transition !== null) effects.transitions.push(transition);
  return ended;
}

/**
 * Has an open alert follow the channels of its check: those that left get the recovery, those that joined
 * the failure, and the episode goes on. It ends if nobody is left.
 */
export function followChannels<Of extends Row>(row: Of, check: ApiCheck | Heartbeat, at: At): Of {
  const { addressee: before } = row;
  if (before === null) return row;
  const { id } = check;
  const endedBecause = endReasonOf(before, check);
  if (endedBecause !== null) return endAlert(row, { id, endedBecause }, at);
  const change = findChange(row, { check, before, nowMs: at.nowMs });
  if (change === null) return row;
  notifyOfChange(row, { id, before, change }, at);
  // An event that waits for a wrong address need not wait for minutes once it is corrected.
  at.effects.goOn.push(...change.corrected.map((target) => queueKeyOf(id, target)));
  return { ...row, addressee: change.addressee };
}

type Compared = { check: ApiCheck | Heartbeat; before: Addressee; nowMs: number };

/** While the check is quiet it joins nothing: no new failure is told. It does so at the first decision after that. */
function findChange(row: Row, { check, before, nowMs }: Compared): ChannelChange | null {
  const change = compareChannels(check.id, before, check);
  if (change === null || change.joined.length === 0) return change;
  const isQuiet = quietUntilMs(row.quiet, nowMs) !== null;
  return isQuiet ? compareChannels(check.id, before, withoutTargets(check, change.joined)) : change;
}

function notifyOfChange(
  { state }: Row,
  { id, before, change }: { id: string; before: Addressee; change: ChannelChange },
  { nowMs, effects }: At,
): void {
  const { left, joined, addressee } = change;
  if (state === null || state.alert === null) return;
  const endedBecause = "the check no longer notifies this channel";
  const ended = { ...describeEvent("resolved", id, state.alert), atMs: nowMs, endedBecause };
  // Recoveries first: at the incident service the failure may go to the queue of the recovery.
  for (const target of left) {
    send(effects, { id, ...before, target }, { ...ended, isOfChannel: true });
  }
  const opened = { ...describeEvent("opened", id, state.alert), atMs: nowMs };
  for (const target of joined) send(effects, { id, ...addressee, target }, opened);
}

/** Adds the suppressions that began or ended since the last ones that were recorded. */
export function recordSuppression<Of extends Row>(row: Of, id: string, { nowMs, effects }: At): Of {
  const now = row.state?.suppressed ?? null;
  const spans = spansOfChange({ last: row.recorded, now }, nowMs);
  if (spans.length === 0) return row;
  effects.suppressions.push(...spans.map((span) => ({ ...span, checkId: id })));
  return { ...row, recorded: now };
}

export const removed = "the check was removed";
