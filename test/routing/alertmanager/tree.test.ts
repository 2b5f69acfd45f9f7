import { describe, expect, it } from "vitest";
import { buildConfig, type RouteNode } from "#routing/alertmanager/tree.ts";
import { aRoute } from "../../support/routing/route-rows.ts";
import { aSending } from "../../support/servers/alertmanager.ts";

const production = aSending();
const staging = aSending({ name: "metrics-staging", environment: "staging" });

const critical = aRoute({
  name: "Pages",
  sources: [
    {
      source: "metrics",
      conditions: [{ label: "severity", operation: "one_of", values: ["critical"] }],
    },
  ],
  escalation: "On-Call",
});

describe("the tree of one source", () => {
  it("has a node for each route, and sends what none takes all the same", () => {
    const { route } = buildConfig([production], [critical]);

    expect(route.receiver).toBe("production/no-route");
    expect(route.routes).toMatchObject([
      { receiver: "production/pages", matchers: ['severity="critical"'] },
    ]);
  });

  it("leaves routes of other sources out", () => {
    const { route, receivers } = buildConfig(
      [production],
      [aRoute({ sources: [{ source: "mailbox", conditions: [] }] })],
    );

    expect(route.routes).toEqual([]);
    expect(receivers).toHaveLength(1);
  });

  it("sends pages at once, and tries them before what only a channel reads", () => {
    const { route } = buildConfig([production], [aRoute({ name: "Chat" }), critical]);

    expect(route.routes?.map(({ receiver, group_wait }) => [receiver, group_wait])).toEqual([
      ["production/pages", "0s"],
      ["production/chat", "10s"],
    ]);
  });

  it("puts one alert into each message", () => {
    expect(buildConfig([production], [critical]).route.group_by).toEqual(["..."]);
  });

  it("has one receiver for a route that takes alerts of the source in two ways", () => {
    const twice = aRoute({
      sources: ["a", "b"].map((value) => ({
        source: "metrics",
        conditions: [{ label: "team", operation: "one_of", values: [value] }],
      })),
    });

    const { route, receivers } = buildConfig([production], [twice]);

    expect(route.routes).toHaveLength(2);
    expect(receivers).toHaveLength(2);
  });
});

describe("what holds alerts back", () => {
  const held = {
    ...critical,
    activeTimes: [
      { weekdays: ["monday" as const], from: "09:00", until: "24:00", timezone: "Europe/Berlin" },
    ],
    inhibitedBy: [
      { conditions: [{ label: "team", operation: "is_set" as const }], equal: ["region"] },
    ],
  };

  it("is a time interval of the route, and a rule for the alerts that it takes", () => {
    const { route, time_intervals, inhibit_rules } = buildConfig([production], [held]);

    expect(route.routes?.[0]?.active_time_intervals).toEqual(["production/pages"]);
    expect(time_intervals).toEqual([
      {
        name: "production/pages",
        time_intervals: [
          {
            times: [{ start_time: "09:00", end_time: "24:00" }],
            weekdays: ["monday"],
            location: "Europe/Berlin",
          },
        ],
      },
    ]);
    expect(inhibit_rules).toEqual([
      {
        source_matchers: ['team!=""'],
        target_matchers: ['severity="critical"'],
        equal: ["region"],
      },
    ]);
  });

  it("is of one environment in an Alertmanager of two", () => {
    const both = {
      ...held,
      sources: [...held.sources, { source: "metrics-staging", conditions: [] }],
    };

    const { inhibit_rules } = buildConfig([production, staging], [both]);

    expect(inhibit_rules).toMatchObject([
      { target_matchers: ['environment!="staging"', 'severity="critical"'] },
      { source_matchers: ['environment="staging"', 'team!=""'] },
    ]);
  });

  it("is in no configuration without it", () => {
    const names = Object.keys(buildConfig([production], [critical]));

    expect(names).toEqual(["route", "receivers"]);
  });
});

describe("receivers", () => {
  it("send recoveries, follow no redirect, and have the token from its file", () => {
    const { receivers } = buildConfig([production], []);

    expect(receivers).toEqual([
      {
        name: "production/no-route",
        webhook_configs: [
          {
            url: production.url,
            send_resolved: true,
            http_config: {
              follow_redirects: false,
              authorization: { type: "Bearer", credentials_file: production.credentialsFile },
            },
          },
        ],
      },
    ]);
  });
});

describe("the tree of two sources", () => {
  const all = aRoute({
    name: "Staging",
    sources: [{ source: "metrics-staging", conditions: [] }],
  });

  it("matches the environment of the second one, and leaves the rest to the first", () => {
    const { route } = buildConfig([production, staging], [critical, all]);

    const [other, own] = route.routes as [RouteNode, RouteNode];
    expect(other.matchers).toEqual(['environment="staging"']);
    expect(other.routes).toMatchObject([{ receiver: "staging/staging" }]);
    expect(own.receiver).toBe("production/pages");
  });
});
