/** Times and inhibition of random routes, as they are computed and as a real Alertmanager keeps to them. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { writeAlertmanagerYaml } from "#routing/alertmanager/export.ts";
import { environmentLabel, findTaker, nameReceivers } from "#routing/alertmanager/tree.ts";
import { type AlertRoute, weekdays } from "#routing/contract.ts";
import { findRecipients, toRoutingTable } from "#routing/recipients.ts";
import { anyLabels, anyRoutes } from "../../../support/routing/route-rows.ts";
import {
  aSending,
  isInstalled,
  output,
  startAlertmanager,
} from "../../../support/servers/alertmanager.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"];

const activeTime = fc.record({
  weekdays: fc.option(fc.subarray([...weekdays], { minLength: 3 }), { nil: undefined }),
  from: fc.constantFrom("00:00", "06:15", "09:00", "12:00"),
  until: fc.constantFrom("12:01", "17:45", "24:00"),
  timezone: fc.constantFrom(...zones),
});

const inhibition = fc.record({
  conditions: fc.constantFrom("critical", "core").map((value) => {
    const label = value === "core" ? "team" : "severity";
    return [{ label, operation: "one_of" as const, values: [value] }];
  }),
  equal: fc.subarray(["severity", "team", "other"], { maxLength: 1 }),
});

const held = fc.record({
  activeTimes: fc.option(fc.array(activeTime, { minLength: 1, maxLength: 2 }), { nil: undefined }),
  inhibitedBy: fc.option(fc.array(inhibition, { minLength: 1, maxLength: 2 }), { nil: undefined }),
});

const names = ["metrics", "metrics-staging"] as const;

/** Each route takes alerts of both environments. */
const anyHeld: fc.Arbitrary<AlertRoute[]> = fc
  .tuple(anyRoutes, fc.array(held, { minLength: 5, maxLength: 5 }))
  .map(([routes, limits]) =>
    routes.map((route, i) => ({
      ...route,
      ...limits[i],
      sources: route.sources.flatMap(({ conditions }) =>
        names.map((source) => ({ source, conditions })),
      ),
    })),
  );

const anyAlerts = fc.array(fc.tuple(anyLabels, fc.constantFrom(...names)), {
  minLength: 40,
  maxLength: 40,
});

type Delivered = { receiver: string; alerts: { labels: { case: string } }[] };

/** The messages of Alertmanager: the receiver of each alert, by its label `case`. */
async function aReceiver() {
  const received = new Map<string, string>();
  const server = createServer(async (request, response) => {
    const { receiver, alerts } = (await json(request)) as Delivered;
    for (const { labels } of alerts) received.set(labels.case, receiver);
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

function example(seed: number) {
  const [routes = []] = fc.sample(anyHeld, { seed, numRuns: 1 });
  const [drawn = []] = fc.sample(anyAlerts, { seed, numRuns: 1 });
  const alerts = drawn.map(([labels, source], i) => {
    const isStaging = source === "metrics-staging";
    const own = { case: `c${i}`, ...(isStaging && { [environmentLabel]: "staging" }) };

    return { source, labels: { ...labels, ...own } };
  });
  return { routes, alerts };
}

it.skipIf(!isInstalled("prometheus-alertmanager", "amtool")).each([1, 2, 3, 4])(
  "Alertmanager and amtool send each of 40 alerts to whom the rows say, seed %i",
  async (seed) => {
    const { routes, alerts } = example(seed);
    const { url, received } = await aReceiver();
    const directory = tempDir();
    const credentialsFile = path.join(directory, "token");
    writeFileSync(credentialsFile, "secret");
    const to = { url, credentialsFile };
    const production = { ...aSending(), ...to };
    const staging = { ...aSending({ name: "metrics-staging", environment: "staging" }), ...to };
    const file = path.join(directory, "alertmanager.yml");
    // All wait alike, so that each alert is known by the time the first one is sent.
    const text = writeAlertmanagerYaml([production, staging], routes);
    writeFileSync(file, text.replace(/group_wait: \S+/g, "group_wait: 4s"));
    const table = toRoutingTable({ sources: [production.source, staging.source], routes }, []);
    const nameOf = nameReceivers(routes);
    const expectAt = (atMs: number) =>
      alerts.map((alert) => {
        const { source } = alert.source === "metrics" ? production : staging;
        const { because } = findRecipients(
          alert,
          { atMs, firing: alerts.filter((one) => one !== alert) },
          table,
        );
        const isHeld = /sends nothing at this time|inhibits/.test(because);
        const receiver = nameOf(source, findTaker(source, alert.labels, routes));
        return { id: alert.labels.case, receiver, sentTo: isHeld ? undefined : receiver };
      });
    const manager = await startAlertmanager(file);
    onTestFinished(manager.stop);
    const before = expectAt(Date.now());

    const answer = await fetch(`${manager.url}/api/v2/alerts`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(alerts.map(({ labels }) => ({ labels }))),
    });
    const wanted = before.filter(({ sentTo }) => sentTo !== undefined).length;
    const isThere = () => received.size >= wanted;
    await waitFor(isThere, { withinMs: 30_000, what: "the alerts" }).catch(() => undefined);
    await delay(2_000);

    expect(answer.status).toBe(200);
    const after = expectAt(Date.now());
    const stable = before.filter(({ sentTo }, i) => sentTo === after[i]?.sentTo);
    expect(stable.length).toBeGreaterThan(20);
    expect(stable.map(({ id }) => [id, received.get(id)])).toEqual(
      stable.map(({ id, sentTo }) => [id, sentTo]),
    );
    for (const [i, { labels }] of alerts.slice(0, 10).entries()) {
      const pairs = Object.entries(labels).map(
        ([name, value]) => `${name}=${JSON.stringify(value)}`,
      );
      const said = await output("amtool", [
        "config",
        "routes",
        "test",
        `--config.file=${file}`,
        ...pairs,
      ]);
      expect(said.split("\n")[0]).toBe(before[i]?.receiver);
    }
  },
  90_000,
);

it("the examples have alerts that are sent and ones that are held back by each cause", () => {
  const causes = [1, 2, 3, 4].flatMap((seed) => {
    const { routes, alerts } = example(seed);
    const sources = names.map((name) => {
      const environment = name === "metrics" ? "production" : "staging";
      return aSending({ name, environment }).source;
    });
    const table = toRoutingTable({ sources, routes }, []);
    const atMs = Date.parse("2026-11-27T20:00:00Z");
    return alerts.map((alert) => {
      const firing = alerts.filter((one) => one !== alert);
      return findRecipients(alert, { atMs, firing }, table).because;
    });
  });

  const count = (pattern: RegExp) => causes.filter((cause) => pattern.test(cause)).length;
  expect(count(/inhibits/)).toBeGreaterThan(5);
  expect(count(/at this time/)).toBeGreaterThan(5);
  expect(causes.length - count(/inhibits|at this time/)).toBeGreaterThan(5);
});
