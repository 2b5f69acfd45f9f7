/** Past alerts against today's routes and those of a file. */
import { expect, it } from "vitest";
import { backtest, type PastAlert } from "#routing/backtest.ts";
import type { AlertRoute } from "#routing/contract.ts";
import { toRoutingTable, type WatchedCheck } from "#routing/recipients.ts";
import { aRoute, aSource } from "../support/routing/route-rows.ts";

const day = Date.parse("2026-11-20T00:00:00Z");
const hourMs = 3_600_000;

const past = (check: string, hour: number, over: Partial<PastAlert> = {}): PastAlert => {
  const atMs = day + hour * hourMs;
  return { check, atMs, untilMs: atMs + hourMs / 2, suppressedBy: null, ...over };
};

const check = (id: string, over: Partial<WatchedCheck> = {}): WatchedCheck => {
  const ruleLabels = { severity: "critical" };
  return { id, environment: "production", channel: "production", ruleLabels, ...over };
};

const takes = (source: string, over: Partial<AlertRoute> = {}) =>
  aRoute({ name: source, sources: [{ source, conditions: [] }], ...over });
const paging = takes("synthetic", { escalation: "On-Call" });
const both = [paging, takes("metrics", { escalation: "On-Call" })];

function table(routes: AlertRoute[], checks = [check("shop"), check("database")]) {
  const synthetic = aSource({ name: "synthetic", title: "Synthetic", kind: "checkly" });
  return toRoutingTable({ sources: [aSource(), synthetic], routes }, checks);
}

const asked = { sinceMs: day, timezone: "UTC", limit: 20 };

function counts({ receivers }: ReturnType<typeof backtest>) {
  return receivers.map(({ target, receiver, today, file }) =>
    [target, receiver, today.alerts, file.alerts, today.at_night, file.at_night].join(" "),
  );
}

it("a backtest of the same routes changes nothing, and has no rows of Alertmanager when it routes alike", () => {
  const same = table(both);

  const result = backtest([past("shop", 3), past("shop", 12)], { today: same, file: same }, asked);

  expect(result).toMatchObject({ alerts: 2, unknown: 0, changed: 0, changes: [] });
  expect(counts(result)).toEqual([
    "incident service On-Call 2 2 1 1",
    "incident service #alerts 2 2 1 1",
  ]);
});

it("a backtest counts more and fewer by receiver, and at night by the time zone's clocks", () => {
  const file = table([takes("synthetic", { channel: "#night" }), takes("metrics")]);
  const zone = { ...asked, timezone: "Europe/Berlin" };

  // 22:30 in Berlin.
  const result = backtest([past("shop", 21.5)], { today: table(both), file }, zone);

  expect(counts(result)).toEqual([
    "incident service On-Call 1 0 1 0",
    "incident service #alerts 1 0 1 0",
    "incident service #night 0 1 0 1",
    "Alertmanager On-Call 1 0 1 0",
    "Alertmanager #alerts 1 1 1 1",
  ]);
  expect(result.receivers[0]?.today.hours[22]).toBe(1);
  expect(result.changes.find(({ target }) => target === "incident service")).toEqual({
    target: "incident service",
    check: "shop",
    at: "2026-11-20T21:30:00.000Z",
    clock: "22:30",
    before: ["On-Call", "#alerts"],
    after: ["#night"],
    because: "synthetic: it takes every alert of this source",
  });
});

it("a backtest has no page of a check while another is open on which it depends in the file", () => {
  const checks = [check("shop", { dependsOn: [{ id: "database" }] }), check("database")];
  const alerts = [past("database", 3), past("shop", 3.25), past("shop", 4)];

  const result = backtest(alerts, { today: table(both), file: table(both, checks) }, asked);

  expect(result.changes).toMatchObject([
    { check: "shop", at: "2026-11-20T03:15:00.000Z", after: [] },
  ]);
});

it("a backtest pages for a suppressed alert once the file drops the dependency", () => {
  const checks = [check("shop", { dependsOn: [{ id: "database" }] }), check("database")];
  const alerts = [past("shop", 3, { suppressedBy: "database" })];

  const result = backtest(alerts, { today: table(both, checks), file: table(both) }, asked);

  expect(result.changes).toMatchObject([{ before: [], after: ["On-Call", "#alerts"] }]);
});

it("a backtest counts an alert before its time only as one that is open, and one that nobody has as unknown", () => {
  const checks = [check("shop", { dependsOn: [{ id: "database" }] }), check("database")];
  const alerts = [past("database", -1, { untilMs: null }), past("shop", 3), past("gone", 4)];

  const result = backtest(alerts, { today: table(both), file: table(both, checks) }, asked);

  expect(result).toMatchObject({ alerts: 1, unknown: 1, changed: 1 });
});

it("a backtest lists as many changes as asked, the newest first, and counts all", () => {
  const alerts = [1, 2, 3].map((hour) => past("shop", hour));
  const few = { ...asked, limit: 2 };

  const result = backtest(alerts, { today: table(both), file: table([]) }, few);

  expect(result.changed).toBe(3);
  expect(result.changes.map(({ clock }) => clock)).toEqual(["03:00", "02:00"]);
});
