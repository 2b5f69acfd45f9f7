/** Rows of routes as Alertmanager's tree: a receiver per route, all receivers of a source at one URL. */
import { createHash } from "node:crypto";
import type { Environment } from "#alerts/contract.ts";
import type { AlertRoute, AlertSource, Condition } from "#routing/contract.ts";
import { simulate } from "#routing/match.ts";
import { writeMatcher } from "./matchers.ts";

/** A source that gets its alerts from an Alertmanager, and how they are sent to it. */
export type Delivery = {
  source: AlertSource & { environment: Environment };
  /** Its events are posted here. */
  url: string;
  /** The path of the token's file, as Alertmanager sees it. */
  credentialsFile: string;
};

export type RouteNode = {
  receiver: string;
  matchers?: string[];
  group_wait?: string;
  group_interval?: string;
  repeat_interval?: string;
  group_by?: string[];
  active_time_intervals?: string[];
  routes?: RouteNode[];
};

export type AlertmanagerConfig = {
  route: RouteNode;
  receivers: object[];
  /** This and the next are absent when no row needs them. */
  time_intervals?: object[];
  inhibit_rules?: object[];
};

/** The label that distinguishes environments in one alert manager. */
export const environmentLabel = "environment";

/** Of several sources an alert's label names the environment's; otherwise it belongs to the first one. */
export function buildConfig(
  deliveries: readonly [Delivery, ...Delivery[]],
  routes: readonly AlertRoute[],
): AlertmanagerConfig {
  const [first, ...others] = deliveries;
  const table = { routes, nameOf: nameReceivers(routes) };
  const root = buildSource(first, table);
  const intervals = deliveries.flatMap(({ source }) => buildIntervals(source, table));
  const inhibitions = deliveries.flatMap(({ source }, i) => {
    const values = others.map((other) => other.source.environment);
    const isOfFirst = { label: environmentLabel, operation: "none_of", values } as const;
    const scope = i > 0 ? [ofEnvironment(source)] : values.length > 0 ? [isOfFirst] : [];
    return buildInhibitions(source, routes, scope.map(writeMatcher));
  });
  return {
    route: {
      ...root,
      // One alert per message, so that no message mixes firing and resolved alerts.
      group_by: ["..."],
      ...timings.chat,
      routes: [...others.map((delivery) => buildOther(delivery, table)), ...(root.routes ?? [])],
    },
    receivers: deliveries.flatMap((delivery) => buildReceivers(delivery, table)),
    ...(intervals.length > 0 && { time_intervals: intervals }),
    ...(inhibitions.length > 0 && { inhibit_rules: inhibitions }),
  };
}

function ofEnvironment({ environment }: Delivery["source"]): Condition {
  return { label: environmentLabel, operation: "one_of", values: [environment] };
}

/** One for each route that has times, named as its receiver. */
function buildIntervals(source: Delivery["source"], { routes, nameOf }: Table): object[] {
  return routesOf(source, routes).flatMap((route) => {
    if (route.activeTimes === undefined) return [];
    const time_intervals = route.activeTimes.map(({ from, until, weekdays, timezone }) => ({
      times: [{ start_time: from, end_time: until }],
      ...(weekdays !== undefined && { weekdays }),
      location: timezone,
    }));
    return [{ name: nameOf(source, route), time_intervals }];
  });
}

/** `scope`: the matchers of the source's alerts among those of all. */
function buildInhibitions(
  source: AlertSource,
  routes: readonly AlertRoute[],
  scope: readonly string[],
): object[] {
  return routesOf(source, routes).flatMap((route) =>
    entriesOf(source, route).flatMap(({ conditions }) =>
      (route.inhibitedBy ?? []).map((inhibition) => ({
        source_matchers: [...scope, ...inhibition.conditions.map(writeMatcher)],
        target_matchers: [...scope, ...conditions.map(writeMatcher)],
        ...(inhibition.equal.length > 0 && { equal: inhibition.equal }),
      })),
    ),
  );
}

type Table = { routes: readonly AlertRoute[]; nameOf: ReceiverNames };

/** Paging alerts are sent at once; others may resolve by themselves. Repeats reach a service that was away. */
const timings = {
  page: { group_wait: "0s", group_interval: "10s", repeat_interval: "1h" },
  chat: { group_wait: "10s", group_interval: "1m", repeat_interval: "12h" },
};

function buildOther(delivery: Delivery, table: Table): RouteNode {
  return {
    matchers: [writeMatcher(ofEnvironment(delivery.source))],
    ...buildSource(delivery, table),
  };
}

/** Alerts that no route takes are sent too: the incident service shows them, and drops them. */
function buildSource({ source }: Delivery, { routes, nameOf }: Table): RouteNode {
  return {
    receiver: nameOf(source, null),
    routes: routesOf(source, routes).flatMap((route) => {
      const receiver = nameOf(source, route);
      const timing = route.escalation === null ? timings.chat : timings.page;
      return entriesOf(source, route).map(({ conditions }) => ({
        receiver,
        ...(conditions.length > 0 && { matchers: conditions.map(writeMatcher) }),
        ...timing,
        ...(route.activeTimes !== undefined && { active_time_intervals: [receiver] }),
      }));
    }),
  };
}

function buildReceivers(delivery: Delivery, { routes, nameOf }: Table): object[] {
  const { source, url, credentialsFile } = delivery;
  const names = [...routesOf(source, routes), null].map((route) => nameOf(source, route));
  return [...new Set(names)].map((name) => ({
    name,
    webhook_configs: [
      {
        url,
        send_resolved: true,
        http_config: {
          // A redirect would send the token to another address.
          follow_redirects: false,
          authorization: { type: "Bearer", credentials_file: credentialsFile },
        },
      },
    ],
  }));
}

/** In the order to try them, paging ones first: an alert that several take is sent once, with a pager's timings. */
function routesOf(source: AlertSource, routes: readonly AlertRoute[]): AlertRoute[] {
  const taking = routes.filter((route) => entriesOf(source, route).length > 0);
  const isPaging = ({ escalation }: AlertRoute) => escalation !== null;
  return [...taking.filter(isPaging), ...taking.filter((route) => !isPaging(route))];
}

/** The route whose receiver Alertmanager sends the alert to; null: no route takes it. */
export function findTaker(
  source: AlertSource,
  labels: Readonly<Record<string, string>>,
  routes: readonly AlertRoute[],
): AlertRoute | null {
  const verdicts = simulate({ source: source.name, labels }, routes).routes;
  const takers = verdicts.filter(({ matches }) => matches).map(({ route }) => route);
  return routesOf(source, routes).find(({ name }) => takers.includes(name)) ?? null;
}

function entriesOf(source: AlertSource, route: AlertRoute): AlertRoute["sources"] {
  return route.sources.filter((entry) => entry.source === source.name);
}

/** `route` null: the receiver of alerts that no route takes. */
type ReceiverNames = (source: Pick<AlertSource, "environment">, route: AlertRoute | null) => string;

const noRoute = "no-route";

/** After their routes, lower-case with hyphens; with a digest where names collide or nothing is left. */
export function nameReceivers(routes: readonly AlertRoute[]): ReceiverNames {
  const bySlug = Map.groupBy(new Set(routes.map(({ name }) => name)), slugOf);
  const nameOf = (route: string) => {
    const slug = slugOf(route);
    const isClear = slug !== "" && slug !== noRoute && bySlug.get(slug)?.length === 1;
    const digest = createHash("sha256").update(route).digest("hex").slice(0, 8);
    return isClear ? slug : `${slug}-${digest}`.replace(/^-/, "");
  };
  return ({ environment }, route) =>
    `${environment}/${route === null ? noRoute : nameOf(route.name)}`;
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
