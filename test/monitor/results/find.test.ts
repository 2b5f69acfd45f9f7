import { expect, it } from "vitest";
import { listChecks } from "#monitor/results/list.ts";
import { emptyStrip } from "#monitor/results/uptime.ts";
import { byUrgency, countChecks, searchChecks, toBars } from "#monitor/results/view.ts";
import { aHeartbeat, anApiCheck, aSnapshot } from "../../support/monitor/check-builders.ts";

const nowMs = Date.UTC(2026, 0, 1);

/** API checks by their id, with their status, and a heartbeat that nobody has set up. */
function listOf(statuses: Record<string, "ok" | "failed" | "degraded">) {
  const ids = Object.keys(statuses);
  const snapshots = Object.entries(statuses).map(
    ([checkId, status]) => [checkId, aSnapshot({ checkId, status, lastAtMs: nowMs })] as const,
  );
  return listChecks({
    definitions: {
      apiChecks: ids.map((id) => anApiCheck({ id, name: `The ${id}` })),
      heartbeats: [aHeartbeat({ id: "nightly", name: "Nightly export" })],
    },
    whyOff: () => [],
    snapshots: new Map(snapshots),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  }).checks;
}

const checks = listOf({ keys: "ok", limits: "failed", login: "degraded", audit: "ok" });

it("the worst checks are first, then those of the first names", () => {
  const ids = checks.toSorted(byUrgency).map(({ id }) => id);

  expect(ids).toEqual(["limits", "login", "audit", "keys", "nightly"]);
});

it("a search without words finds all, and shows the first of each kind", () => {
  expect(searchChecks(checks, { limit: 1 })).toEqual({
    shown: ["keys", "nightly"],
    found: { api: 4, heartbeat: 1 },
  });
});

it.each([
  [{ search: "EXPORT" }, ["nightly"]],
  [{ search: " lim " }, ["limits"]],
  [{ search: "THE KEYS" }, ["keys"]],
  [{ search: "%" }, []],
  [{ status: "ok" }, ["keys", "audit"]],
  [{ kind: "heartbeat" }, ["nightly"]],
  [{ kind: "api", status: "ok", search: "e" }, ["keys", "audit"]],
] as const)("the search %j finds what has all of it", (search, ids) => {
  expect(searchChecks(checks, search).shown).toEqual(ids);
});

it("the counts are of all checks, by kind and by status", () => {
  const statuses = { ok: 2, failed: 1, degraded: 1, pending: 1 };

  expect(countChecks(checks)).toEqual({ total: { api: 4, heartbeat: 1 }, statuses, alerts: 0 });
});

it("the bars of a strip have a letter for each grade", () => {
  const [first, second, third, fourth] = emptyStrip(nowMs);
  const strip = [first, { ...second, grade: "ok" }, { ...third, grade: "degraded" }];

  expect(toBars([...strip, { ...fourth, grade: "failed" }] as Parameters<typeof toBars>[0])).toBe(
    "-odf",
  );
});
