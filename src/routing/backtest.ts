/**
 * Plays past alerts of checks against two tables of routes: today's, and those of a file. Both sides are computed by the
 * same rules, so that a difference is one of the rows. The alerts are taken as our own events, for the incident service
 * and direct channels, and as they come by the rules for Prometheus and Alertmanager. Pure.
 */
import { offsetAt, toIso } from "#kernel/time.ts";
import {
  findByAlertmanager,
  findRecipients,
  namesOf,
  type Recipients,
  type RoutingTable,
  type Situation,
} from "./recipients.ts";

/** An alert that opened, or one that a dependency suppressed. */
export type PastAlert = {
  check: string;
  atMs: number;
  /** null: it lasts. */
  untilMs: number | null;
  /** The failing check or heartbeat that it depended on; null: it opened. */
  suppressedBy: string | null;
};

const targets = ["incident service", "Alertmanager"] as const;
type Target = (typeof targets)[number];

type Side = {
  alerts: number;
  /** From 22 to 7 o'clock. */
  at_night: number;
  /** By the hour of the day, 0 to 23. */
  hours: number[];
};

type ReceiverRow = {
  target: Target;
  receiver: string;
  /** page: an escalation path; chat: a chat channel of routes; channel: one that checks name. */
  kind: "page" | "chat" | "channel";
  today: Side;
  file: Side;
};

type ChangedAlert = {
  target: Target;
  check: string;
  at: string;
  /** By the clocks of the time zone: 03:12. */
  clock: string;
  before: string[];
  after: string[];
  /** Why these are notified with the file. */
  because: string;
};

export type Backtest = {
  alerts: number;
  /** Alerts of checks that neither side has: they are left out. */
  unknown: number;
  /** Those of Alertmanager only if it routes an alert otherwise than the incident service does. */
  receivers: ReceiverRow[];
  changed: number;
  /** The newest first; as many as were asked for. */
  changes: ChangedAlert[];
};

type Tables = { today: RoutingTable; file: RoutingTable };
type Asked = { sinceMs: number; timezone: string; limit: number };

export function backtest(past: readonly PastAlert[], tables: Tables, asked: Asked): Backtest {
  const all = withSituations(past).filter(({ alert }) => alert.atMs >= asked.sinceMs);
  const known = all.filter(({ alert: { check } }) =>
    [tables.today, tables.file].some(({ checks }) => checks.has(check)),
  );
  const routed = known.map((one) => route(one, tables));
  const isApart = routed.some(({ alertmanager, incident }) =>
    sides.some((side) => !isSameRouting(alertmanager[side], incident[side])),
  );
  const outcomes = routed.flatMap(({ alert, incident, alertmanager }): Outcome[] => [
    { alert, target: "incident service", ...incident },
    ...(isApart ? [{ alert, target: "Alertmanager" as const, ...alertmanager }] : []),
  ]);
  const changes = outcomes.filter(({ today, file }) => !isSameList(namesOf(today), namesOf(file)));
  return {
    alerts: known.length,
    unknown: all.length - known.length,
    receivers: countReceivers(outcomes, asked.timezone),
    changed: changes.length,
    changes: changes
      .toReversed()
      .slice(0, asked.limit)
      .map((change) => describe(change, asked.timezone)),
  };
}

const sides = ["today", "file"] as const;
type Sides = Record<(typeof sides)[number], Recipients>;
type Outcome = Sides & { alert: PastAlert; target: Target };
type Situated = { alert: PastAlert; situation: Situation };

/** Oldest first, each with the checks whose alerts were open, or suppressed, when it opened. */
function withSituations(past: readonly PastAlert[]): Situated[] {
  const sorted = past.toSorted((a, b) => a.atMs - b.atMs);
  let open: PastAlert[] = [];
  let next = 0;
  return sorted.map((alert) => {
    const { atMs, check, suppressedBy } = alert;
    open = open.filter(({ untilMs }) => untilMs === null || untilMs > atMs);
    for (let one = sorted[next]; one !== undefined && one.atMs <= atMs; one = sorted[next]) {
      open.push(one);
      next += 1;
    }
    const others = open.map((one) => one.check).filter((id) => id !== check);
    const firing = suppressedBy === null ? others : [...others, suppressedBy];
    return { alert, situation: { atMs, firing } };
  });
}

function route({ alert, situation }: Situated, { today, file }: Tables) {
  const { check } = alert;
  const by = (find: typeof findByAlertmanager): Sides => {
    const of = (table: RoutingTable): Recipients =>
      table.checks.has(check) ? find(check, situation, table) : gone;
    return { today: of(today), file: of(file) };
  };
  return { alert, incident: by(findRecipients), alertmanager: by(findByAlertmanager) };
}

const gone: Recipients = { pages: [], chats: [], channels: [], because: "there is no such check" };

/** Direct channels are none of Alertmanager's. */
function isSameRouting(a: Recipients, b: Recipients): boolean {
  return isSameList(a.pages, b.pages) && isSameList(a.chats, b.chats);
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

const kinds = { pages: "page", chats: "chat", channels: "channel" } as const;

function countReceivers(outcomes: readonly Outcome[], timezone: string): ReceiverRow[] {
  const rows = new Map<string, ReceiverRow>();
  for (const { alert, target, ...recipients } of outcomes) {
    const hour = Number(clockAt(alert.atMs, timezone).slice(0, 2));
    for (const side of sides) {
      for (const [list, kind] of Object.entries(kinds)) {
        for (const receiver of recipients[side][list as keyof typeof kinds]) {
          const key = JSON.stringify([target, kind, receiver]);
          const row = rows.get(key) ?? {
            target,
            receiver,
            kind,
            today: emptySide(),
            file: emptySide(),
          };
          rows.set(key, row);
          add(row[side], hour);
        }
      }
    }
  }
  const order = ({ target }: ReceiverRow) => targets.indexOf(target);
  const most = ({ today, file }: ReceiverRow) => Math.max(today.alerts, file.alerts);
  return [...rows.values()].sort((a, b) => order(a) - order(b) || most(b) - most(a));
}

function emptySide(): Side {
  return { alerts: 0, at_night: 0, hours: new Array<number>(24).fill(0) };
}

function add(side: Side, hour: number): void {
  side.alerts += 1;
  if (hour >= 22 || hour < 7) side.at_night += 1;
  side.hours[hour] = (side.hours[hour] ?? 0) + 1;
}

/** `HH:MM` */
function clockAt(atMs: number, timezone: string): string {
  return new Date(atMs + offsetAt(timezone, atMs)).toISOString().slice(11, 16);
}

function describe({ alert, target, today, file }: Outcome, timezone: string): ChangedAlert {
  const { check, atMs } = alert;
  const [before, after] = [namesOf(today), namesOf(file)];
  const clock = clockAt(atMs, timezone);
  return { target, check, at: toIso(atMs), clock, before, after, because: file.because };
}
