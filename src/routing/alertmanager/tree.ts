/** Rows of routes as Alertmanager's tree: a receiver per route, all of a source at one address. */

import type { Environment } from "#alerts/contract.ts";
import type { AlertRoute, AlertSource } from "#routing/contract.ts";
import { writeMatcher } from "./matchers.ts";

/** A source of alerts of Alertmanager's, and how it sends them. */
export type Delivery = {
  source: AlertSource & { environment: Environment };
  /** Where its events are posted. */
  url: string;
  /** As Alertmanager sees it. */
  credentialsFile: string;
};

export type RouteNode = {
  receiver: string;
  matchers?: string[];
  group_wait?: string;
  group_interval?: string;
  repeat_interval?: string;
  group_by?: string[];
  routes?: RouteNode[];
};

export type AlertmanagerConfig = { route: RouteNode; receivers: object[] };

/** The label that tells environments apart in one alert manager. */
export const environmentLabel = "environment";

/**
 * With several sources an alert belongs to the one whose environment its label names, and else to
 * the first one. There has to be one.
 */
export function buildConfig(
  sendings: readonly [Delivery, ...Delivery[]],
  routes: readonly AlertRoute[],
): AlertmanagerConfig {
  const [first, ...others] = sendings;
  const root = buildSource(first, routes);
  return {
    route: {
      ...root,
      // One alert per message: a message never mixes alerts that fire and that are resolved.
      group_by: ["..."],
      ...timings.chat,
      routes: [...others.map((sending) => buildOther(sending, routes)), ...(root.routes ?? [])],
    },
    receivers: sendings.flatMap((sending) => buildReceivers(sending, routes)),
  };
}

/** A page leaves at once; what only a channel reads may heal first. A service that was away is told again. */
const timings = {
  page: { group_wait: "0s", group_interval: "10s", repeat_interval: "1h" },
  chat: { group_wait: "10s", group_interval: "1m", repeat_interval: "12h" },
};

function buildOther(sending: Delivery, routes: readonly AlertRoute[]): RouteNode {
  const values = [sending.source.environment];
  const matcher = writeMatcher({ label: environmentLabel, operation: "one_of", values });
  return { matchers: [matcher], ...buildSource(sending, routes) };
}

/** What no route takes is sent too: the incident service shows it, and drops it. */
function buildSource({ source }: Delivery, routes: readonly AlertRoute[]): RouteNode {
  return {
    receiver: receiverOf(source, null),
    routes: routesOf(source, routes).flatMap((route) => {
      const receiver = receiverOf(source, route);
      const timing = route.escalation === null ? timings.chat : timings.page;
      return entriesOf(source, route).map(({ conditions }) => ({
        receiver,
        ...(conditions.length > 0 && { matchers: conditions.map(writeMatcher) }),
        ...timing,
      }));
    }),
  };
}

function buildReceivers(sending: Delivery, routes: readonly AlertRoute[]): object[] {
  const { source, url, credentialsFile } = sending;
  const names = [...routesOf(source, routes), null].map((route) => receiverOf(source, route));
  return [...new Set(names)].map((name) => ({
    name,
    webhook_configs: [
      {
        url,
        send_resolved: true,
        http_config: {
          // A redirect would take the token to wherever it points.
          follow_redirects: false,
          authorization: { type: "Bearer", credentials_file: credentialsFile },
        },
      },
    ],
  }));
}

/**
 * The routes that take alerts of the source, in the order in which Alertmanager is to try them: an
 * alert that several take is sent once, with the urgency of one that pages.
 */
export function routesOf(source: AlertSource, routes: readonly AlertRoute[]): AlertRoute[] {
  const taking = routes.filter((route) => entriesOf(source, route).length > 0);
  const isPaging = ({ escalation }: AlertRoute) => escalation !== null;
  return [...taking.filter(isPaging), ...taking.filter((route) => !isPaging(route))];
}

function entriesOf(source: AlertSource, route: AlertRoute): AlertRoute["sources"] {
  return route.sources.filter((entry) => entry.source === source.name);
}

/** null: of the alerts that no route takes. */
export function receiverOf({ environment }: AlertSource, route: AlertRoute | null): string {
  const name = route === null ? "no-route" : slugOf(route.name);
  return `${environment}/${name}`;
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
