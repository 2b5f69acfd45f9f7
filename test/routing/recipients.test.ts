/** Who is notified of an alert at a time, while others fire; and the tests of rows that ask it. */
import { describe, expect, it } from "vitest";
import { runRouteTests } from "#routing/commands.ts";
import type { ActiveTime, AlertRef, AlertRoute } from "#routing/contract.ts";
import {
  findByAlertmanager,
  findRecipients,
  isWithin,
  namesOf,
  toRoutingTable,
  type WatchedCheck,
} from "#routing/recipients.ts";
import { aRoute, aSource } from "../support/routing/route-rows.ts";

const atMs = Date.parse("2026-11-28T12:00:00Z");

function aCheck(over: Partial<WatchedCheck> = {}): WatchedCheck {
  const ruleLabels = { alertname: "VedetteCheckFailed", severity: "critical" };
  return { id: "shop", environment: "production", channel: "production", ruleLabels, ...over };
}

function aTable(over: { routes?: AlertRoute[]; checks?: WatchedCheck[] } = {}) {
  const { routes = [aRoute({ escalation: "On-Call" })], checks = [aCheck()] } = over;
  const synthetic = aSource({ name: "synthetic", title: "Synthetic", kind: "checkly" });
  return toRoutingTable({ sources: [aSource(), synthetic], routes }, checks);
}

const alert = (severity: string, more: Record<string, string> = {}): AlertRef => {
  return { source: "metrics", labels: { severity, ...more } };
};

function whoGets(ref: AlertRef, firing: AlertRef[], routes: AlertRoute[], at = atMs): string[] {
  return namesOf(findRecipients(ref, { atMs: at, firing }, aTable({ routes })));
}

describe("an alert of a check", () => {
  const synthetic = aRoute({
    name: "Synthetic",
    sources: [{ source: "synthetic", conditions: [] }],
    escalation: "On-Call",
  });
  const table = aTable({
    routes: [synthetic],
    checks: [
      aCheck({ directChannels: [{ id: "ops-chat" }], dependsOn: [{ id: "database" }] }),
      aCheck({ id: "database", channel: null }),
    ],
  });

  it("goes to the pages and chats of its source's routes, then to its own channels", () => {
    const found = findRecipients("shop", { atMs, firing: ["other"] }, table);

    expect(namesOf(found)).toEqual(["On-Call", "#alerts", "ops-chat"]);
  });

  it("notifies nobody while something fires that it depends on", () => {
    const found = findRecipients("shop", { atMs, firing: ["database"] }, table);

    expect(namesOf(found)).toEqual([]);
    expect(found.because).toBe("it depends on database, which fails");
  });

  it("that comes by Alertmanager goes by the labels of its rule, and is inhibited by those of others", () => {
    const critical = [{ label: "severity", operation: "one_of" as const, values: ["critical"] }];
    const inhibited = aRoute({
      sources: [{ source: "metrics", conditions: critical }],
      inhibitedBy: [
        {
          conditions: [{ label: "check", operation: "one_of", values: ["gateway"] }],
          equal: [],
        },
      ],
    });
    const gateway = aCheck({ id: "gateway", ruleLabels: { check: "gateway" } });
    const own = aTable({ routes: [inhibited], checks: [aCheck(), gateway] });
    const find = (firing: string[]) => namesOf(findByAlertmanager("shop", { atMs, firing }, own));

    expect(find([])).toEqual(["#alerts"]);
    expect(find(["gateway"])).toEqual([]);
  });
});

describe("an alert of Alertmanager", () => {
  const office: ActiveTime = {
    weekdays: ["monday", "friday"],
    from: "09:00",
    until: "17:00",
    timezone: "Europe/Berlin",
  };

  it.each([
    ["2026-11-27T08:00:00Z", true],
    ["2026-11-27T07:59:59Z", false],
    ["2026-11-27T15:59:59Z", true],
    ["2026-11-27T16:00:00Z", false],
    ["2026-11-28T10:00:00Z", false],
    // In summer.
    ["2026-07-31T07:00:00Z", true],
    ["2026-07-31T15:00:00Z", false],
  ])("is within Fridays from 9 to 17 in Berlin at %s: %s", (at, expected) => {
    expect(isWithin(office, Date.parse(at))).toBe(expected);
  });

  it("is sent by a route with times only within them, and then by no other route", () => {
    const routes = [
      aRoute({ name: "Timed", escalation: "On-Call", activeTimes: [office] }),
      aRoute({ name: "Chat" }),
    ];
    const friday = Date.parse("2026-11-27T10:00:00Z");

    expect(whoGets(alert("critical"), [], routes, friday)).toEqual(["On-Call", "#alerts"]);
    expect(whoGets(alert("critical"), [], routes)).toEqual([]);
  });

  const inhibited = aRoute({
    inhibitedBy: [
      {
        conditions: [{ label: "severity", operation: "one_of", values: ["critical"] }],
        equal: ["team"],
      },
    ],
  });

  it.each<[string, AlertRef, AlertRef[], string[]]>([
    ["is inhibited by one with equal labels", alert("warning"), [alert("critical")], []],
    [
      "is not inhibited by one with another team",
      alert("warning", { team: "a" }),
      [alert("critical", { team: "b" })],
      ["#alerts"],
    ],
    ["is not inhibited by one that does not match", alert("warning"), [alert("info")], ["#alerts"]],
    ["on both sides is not inhibited", alert("critical"), [alert("critical")], ["#alerts"]],
    [
      "is not inhibited by one of another source",
      alert("warning"),
      [{ source: "synthetic", labels: { severity: "critical" } }],
      ["#alerts"],
    ],
  ])("%s", (_name, ref, firing, expected) => {
    expect(whoGets(ref, firing, [inhibited])).toEqual(expected);
  });
});

describe("a test of a route", () => {
  const run = (test: object) => {
    const given = { alert: alert("critical"), at: "2026-11-28T12:00:00Z", firing: [], expect: [] };
    const tests = [{ ...given, ...test }];
    return runRouteTests(aTable({ routes: [aRoute({ escalation: "On-Call", tests })] }));
  };

  it("passes when exactly those are notified that it expects, in order", () => {
    expect(run({ expect: ["On-Call", "#alerts"] })).toEqual([]);
    expect(run({ expect: ["#alerts", "On-Call"] })).toHaveLength(1);
  });

  it("that fails says who was expected and found, and which route matched", () => {
    expect(run({ expect: ["#alerts"] })).toEqual([
      {
        route: "All",
        index: 0,
        message:
          "expected #alerts, found On-Call, #alerts (All: it takes every alert of this source)",
      },
    ]);
  });

  it.each([
    [{ alert: "shpo" }, "there is no check shpo: did you mean shop?"],
    [{ firing: ["nope"] }, 'there is no check nope; the only one is "shop"'],
    [
      { alert: { source: "metric", labels: {} } },
      "there is no source metric: did you mean metrics?",
    ],
  ])("fails when it names what is not there: %j", (test, message) => {
    expect(run(test)).toMatchObject([{ message }]);
  });
});
