/**
 * Finds who is notified of an alert at a time, while others fire. The incident service decides by conditions alone: what
 * holds alerts back is before it. Our monitor opens none while something fails that the check depends on; Alertmanager
 * sends none outside of the times of the route that it chooses, nor while one fires that inhibits it. Pure.
 */
import { pick } from "#kernel/text.ts";
import { dayAt, offsetAt, weekdayOf } from "#kernel/time.ts";
import { findTaker } from "./alertmanager/tree.ts";
import {
  type ActiveTime,
  type AlertRef,
  type AlertRoute,
  type AlertSource,
  type RoutingRows,
  weekdays,
} from "./contract.ts";
import { type Alert, matchesAll, type RoutedCheck, simulate, walkToPage } from "./match.ts";

/** A check or heartbeat with all that decides who is notified of its alerts. */
export type WatchedCheck = RoutedCheck & {
  directChannels?: readonly { id: string }[] | undefined;
  dependsOn?: readonly { id: string }[] | undefined;
  /** Of its alert in the rules that are exported for Prometheus; null: it has none. */
  ruleLabels: Readonly<Record<string, string>> | null;
};

/** `checks`: by id. */
export type RoutingTable = RoutingRows & { checks: ReadonlyMap<string, WatchedCheck> };

export function toRoutingTable(
  { sources, routes }: RoutingRows,
  checks: readonly WatchedCheck[],
): RoutingTable {
  return { sources, routes, checks: new Map(checks.map((check) => [check.id, check])) };
}

export type Situation = {
  atMs: number;
  /** The other alerts that fire by then. */
  firing: readonly AlertRef[];
};

export type Recipients = {
  /** Escalation paths that page. */
  pages: readonly string[];
  /** Chat channels of routes. */
  chats: readonly string[];
  /** Ids of the check's channels that are sent to directly. */
  channels: readonly string[];
  /** The routes that took it, and why; or why nobody is notified. */
  because: string;
};

/** Throws an error that says what there is when the check or the source is unknown. */
export function findRecipients(
  alert: AlertRef,
  situation: Situation,
  table: RoutingTable,
): Recipients {
  return typeof alert === "string"
    ? findOfCheck(requireCheck(alert, table), situation, table)
    : findOfSource(alert, situation, table);
}

function requireCheck(id: string, { checks }: RoutingTable): WatchedCheck {
  return checks.get(id) ?? pick("check", id, [...checks.values()]);
}

function findOfCheck(check: WatchedCheck, situation: Situation, table: RoutingTable): Recipients {
  const by = findSuppressing(check, situation);
  if (by !== undefined) return nobody(`it depends on ${by}, which fails`);
  const { simulation } = walkToPage(check, table);
  const channels = (check.directChannels ?? []).map(({ id }) => id);
  if (simulation !== null) return { ...fromSimulation(simulation), channels };
  return { ...nobody("no channel of it leads to a source of routes"), channels };
}

function findSuppressing({ dependsOn = [] }: WatchedCheck, { firing }: Situation) {
  return dependsOn.map(({ id }) => id).find((id) => firing.includes(id));
}

function findOfSource(alert: Alert, situation: Situation, table: RoutingTable): Recipients {
  const source = pick("source", alert.source, table.sources);
  const held =
    source.kind === "alertmanager" ? whyHeldBack(alert, { source, situation, table }) : undefined;
  return held === undefined ? fromSimulation(simulate(alert, table.routes)) : nobody(held);
}

/** The same alert of a check, when it comes by the exported rules and Alertmanager instead of our own events. */
export function findByAlertmanager(
  id: string,
  situation: Situation,
  table: RoutingTable,
): Recipients {
  const check = requireCheck(id, table);
  const by = findSuppressing(check, situation);
  if (by !== undefined) return nobody(`it depends on ${by}, which fails`);
  const alert = toRuleAlert(check, table);
  if (alert === undefined) return nobody("no rule or no source of an Alertmanager is for it");
  const firing = situation.firing.flatMap((other) => {
    const found = typeof other === "string" ? table.checks.get(other) : undefined;
    return (found && toRuleAlert(found, table)) ?? [];
  });
  return findOfSource(alert, { ...situation, firing }, table);
}

function toRuleAlert(check: WatchedCheck, { sources }: RoutingTable): Alert | undefined {
  const { environment, ruleLabels: labels } = check;
  const source = sources.find(
    (row) => row.kind === "alertmanager" && row.environment === environment,
  );
  return labels === null || source === undefined ? undefined : { source: source.name, labels };
}

type AtAlertmanager = { source: AlertSource; situation: Situation; table: RoutingTable };

/** undefined: Alertmanager sends it. */
function whyHeldBack(alert: Alert, { source, situation, table }: AtAlertmanager) {
  const taker = findTaker(source, alert.labels, table.routes);
  const isOn = taker?.activeTimes?.some((time) => isWithin(time, situation.atMs)) ?? true;
  if (!isOn) return `${taker?.name} sends nothing at this time`;
  const others = situation.firing.flatMap((other) =>
    typeof other !== "string" && other.source === alert.source ? [other] : [],
  );
  const inhibiting = table.routes.find((route) => isInhibited(alert, others, route));
  return inhibiting && `an alert fires that inhibits those of ${inhibiting.name}`;
}

/** Alertmanager's rule: an alert on both sides is not inhibited by another one that is on both sides. */
function isInhibited(alert: Alert, others: readonly Alert[], route: AlertRoute): boolean {
  const entries = route.sources.filter(({ source }) => source === alert.source);
  return entries.some(({ conditions }) => {
    if (!matchesAll(alert.labels, conditions)) return false;
    return (route.inhibitedBy ?? []).some((by) => {
      const isOnBoth = matchesAll(alert.labels, by.conditions);
      return others.some(
        ({ labels }) =>
          matchesAll(labels, by.conditions) &&
          by.equal.every((name) => labelOf(labels, name) === labelOf(alert.labels, name)) &&
          !(isOnBoth && matchesAll(labels, conditions)),
      );
    });
  });
}

function labelOf(labels: Alert["labels"], name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? "") : "";
}

const dayMs = 86_400_000;

/** By the clocks of the time's zone, as Alertmanager reads them. */
export function isWithin({ weekdays: days, from, until, timezone }: ActiveTime, atMs: number) {
  const day = dayAt(timezone, atMs);
  const name = weekdays[weekdayOf(day)];
  if (days !== undefined && !days.some((one) => one === name)) return false;
  const clock = new Date(atMs + offsetAt(timezone, atMs) - day * dayMs).toISOString().slice(11, 16);
  return from <= clock && clock < until;
}

function fromSimulation({ routes, pages, channels: chats }: ReturnType<typeof simulate>) {
  const taken = routes.filter(({ matches }) => matches);
  const because = taken.map(({ route, because }) => `${route}: ${because}`).join("; ");
  return { pages, chats, channels: [], because: because || "no route takes it" };
}

function nobody(because: string): Recipients {
  return { pages: [], chats: [], channels: [], because };
}

/** Everybody by name, in the order in which a test expects them. */
export function namesOf({ pages, chats, channels }: Recipients): string[] {
  return [...pages, ...chats, ...channels];
}
