/** The body of an alert event, built as an object, so that any text in it is escaped. */
import { createHash } from "node:crypto";
import { viewSuspect } from "#blame/contract.ts";
import { formatSpan, toIso } from "#kernel/time.ts";
import { capitalize, rolloutOfAlert, suspectWords } from "#kernel/words.ts";
import type { AlertTransition, Environment, RolloutMark } from "./contract.ts";
import { type NoticeOrder, type Order, type RoutedOrder, rolloutKeyOf } from "./order.ts";
import type { SourceKind } from "./source.ts";

/** The event as the incident service accepts it at a source of the kinds `http` and `checkly`. */
type HttpEvent = {
  title: string;
  description: string;
  /** The check's id: groups its alerts into one, which the recovery resolves. */
  deduplication_key: string;
  status: "firing" | "resolved";
  source_url?: string;
  metadata: Record<string, unknown>;
};

/** The addresses of pages of the console; undefined: its address is not known. */
export type LinkTo = {
  check: (checkId: string) => string | undefined;
  rollout: (mark: Pick<RolloutMark, "rolloutId" | "fleet">) => string | undefined;
};

/** The rollout that may have caused a failure. */
export type RolloutNote = {
  id: string;
  image: string;
  wave: number;
  /** null: it was in progress when the alert opened. */
  endedAtMs: number | null;
  summary: string;
  /** Its page in the console; null: its address is not known. */
  url: string | null;
};

type Terms = { kind: SourceKind; linkTo: LinkTo; environment: Environment };

/** The same for every attempt at the same event. */
export function renderEvent(order: Order, { kind, linkTo, environment }: Terms): object {
  const isNotice = "notice" in order;
  const event = isNotice ? toNoticeEvent(order, linkTo) : toHttpEvent(order, linkTo);
  const { eventId, atMs } = order.transition ?? order;
  const openedAtMs = isNotice ? atMs : order.transition.openedAtMs;
  if (kind !== "alertmanager") return event;
  return toAlertmanagerMessage(event, { eventId, atMs, openedAtMs, environment });
}

/** A rollout that has paused is firing, until its next notice. */
function toNoticeEvent(order: NoticeOrder, linkTo: LinkTo): HttpEvent {
  const { eventId, notice } = order;
  const { id: rolloutId = "", fleet = "", event } = notice.rollout ?? {};
  const url = linkTo.rollout({ rolloutId, fleet });
  return {
    title: notice.title,
    description: [
      ...notice.lines,
      ...notice.fields.map(({ name, value }) => `${name}: ${value}`),
    ].join("\n"),
    deduplication_key: rolloutKeyOf(order),
    status: notice.tone === "danger" ? "firing" : "resolved",
    ...(url !== undefined && { source_url: url }),
    metadata: { event_id: eventId, rollout_id: rolloutId, fleet, event },
  };
}

function toHttpEvent(order: RoutedOrder, linkTo: LinkTo): HttpEvent {
  const { transition, environment, name } = order;
  const { kind, checkId, eventId, episode, rollout, missedPings, endedBecause } = transition;
  const link = linkTo.check(transition.drill ?? checkId);
  const note = noteOf(transition, linkTo);
  return {
    title: `${name} ${titleWord(transition)}`,
    description: describe(order, note),
    deduplication_key: checkId,
    status: kind === "opened" ? "firing" : "resolved",
    ...(link !== undefined && { source_url: link }),
    metadata: {
      // The hosted monitor's names, so that a source set up for it can read ours.
      alertType: kind === "opened" ? "ALERT_FAILURE" : "ALERT_RECOVERY",
      ...(link !== undefined && { resultLink: link }),
      event_id: eventId,
      check_id: checkId,
      check_name: name,
      environment,
      episode,
      reason: endedBecause ?? transition.reason,
      locations: transition.locations,
      opened_at: toIso(transition.openedAtMs),
      occurred_at: toIso(transition.atMs),
      ...(missedPings !== null && { missed_pings: missedPings }),
      ...(transition.drill !== undefined && { is_test: true }),
      ...(note !== null && { rollout_id: note.id, rollout_image: note.image }),
      ...(note !== null && { rollout_wave: note.wave, rollout_url: note.url }),
      ...(transition.changes !== undefined && { changes: transition.changes.map(viewSuspect) }),
      ...(rollout?.endedAtMs !== undefined && { rollout_ended_at: toIso(rollout.endedAtMs) }),
    },
  };
}

function titleWord({ kind, endedBecause }: AlertTransition): string {
  if (kind === "opened") return "failed";
  return endedBecause === undefined ? "recovered" : "closed without a recovery";
}

function describe({ transition }: RoutedOrder, note: RolloutNote | null): string {
  const { locations, missedPings, changes = [] } = transition;
  const lines = [describeChange(transition)];
  if (missedPings !== null) lines.push(`Pings missed: ${missedPings}`);
  if (locations.length > 0) lines.push(`Locations: ${locations.join(", ")}`);
  if (changes.length > 0) lines.push(`Changed before: ${suspectWords(changes)}`);
  if (note !== null) lines.push(note.url === null ? note.summary : `${note.summary}: ${note.url}`);
  return lines.join("\n");
}

/** The rollout that may have caused it. */
export function noteOf(
  { rollout, openedAtMs }: AlertTransition,
  linkTo: LinkTo,
): RolloutNote | null {
  if (rollout === null) return null;
  const { rolloutId: id, image, wave, endedAtMs = null } = rollout;
  const summary = rolloutOfAlert({ image, wave, ended_at: rollout.endedAtMs }, openedAtMs);
  const url = linkTo.rollout(rollout) ?? null;
  return { id, image, wave, endedAtMs, summary: capitalize(summary), url };
}

function describeChange(transition: AlertTransition): string {
  const { kind, reason, atMs, openedAtMs, endedBecause } = transition;
  if (kind === "opened") return reason;
  const openFor = formatSpan(openedAtMs, atMs);
  return endedBecause === undefined
    ? `Recovered after ${openFor}. It had failed: ${reason}`
    : `Closed after ${openFor}: ${endedBecause}. It had failed: ${reason}`;
}

/** A time that is not set, as Go writes it: the alert has not ended. */
const notEnded = "0001-01-01T00:00:00Z";

type Times = { eventId: string; atMs: number; openedAtMs: number; environment: Environment };

/** Returns a message as Alertmanager posts it to a webhook (version 4), for a source of its kind. */
function toAlertmanagerMessage(event: HttpEvent, times: Times): object {
  const { eventId, atMs, openedAtMs, environment } = times;
  const { title, description, status, deduplication_key: key } = event;
  const labels = { alertname: key, severity: "critical", environment, check: key };
  const annotations = { title, description, event_id: eventId };
  const groupLabels = { alertname: key };
  const alert = {
    status,
    labels,
    annotations,
    startsAt: toIso(openedAtMs),
    endsAt: status === "firing" ? notEnded : toIso(atMs),
    generatorURL: event.source_url ?? "",
    // 16 hex digits, the same for every event of the check: the service identifies alerts by it.
    fingerprint: createHash("sha256").update(key).digest("hex").slice(0, 16),
  };
  return {
    version: "4",
    groupKey: `{}:{alertname=${JSON.stringify(key)}}`,
    truncatedAlerts: 0,
    status,
    receiver: "vedette",
    groupLabels,
    commonLabels: labels,
    commonAnnotations: annotations,
    externalURL: event.source_url ?? "",
    alerts: [alert],
  };
}
