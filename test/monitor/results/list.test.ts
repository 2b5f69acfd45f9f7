import { expect, it } from "vitest";
import type { CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import { listChecks, nobodyOf } from "#monitor/results/list.ts";
import { aHeartbeat, anApiCheck, aSnapshot } from "../../support/monitor/check-builders.ts";

const minute = 60_000;
const nowMs = Date.UTC(2026, 0, 1);
const whyOff = (): string[] => [];
const definitions = { apiChecks: [anApiCheck({ frequencySeconds: 60 })], heartbeats: [] };

function statusOf(snapshot: CheckSnapshot | undefined) {
  const snapshots = new Map(snapshot === undefined ? [] : [["verify-key", snapshot]]);
  const from = { definitions, whyOff, snapshots, days: new Map(), alertTime: new Map(), nowMs };
  return listChecks(from).checks[0]?.status;
}

it("a check has the status of its last run for three periods", () => {
  expect(statusOf(aSnapshot({ lastAtMs: nowMs - 3 * minute }))).toBe("ok");
  expect(statusOf(aSnapshot({ lastAtMs: nowMs - 3 * minute - 1 }))).toBe("silent");
});

it("a last run in the future, by a wrong clock, is stale", () => {
  const nextYearMs = nowMs + 365 * 24 * 60 * minute;

  expect(statusOf(aSnapshot({ lastAtMs: nextYearMs }))).toBe("silent");
});

it("a failed check stays failed until another run", () => {
  const hourAgoMs = nowMs - 60 * minute;

  expect(statusOf(aSnapshot({ lastAtMs: hourAgoMs, status: "failed" }))).toBe("failed");
});

it("a check without a snapshot is pending", () => {
  expect(statusOf(undefined)).toBe("pending");
});

it("the list names the settings without which a check is off, and none for a heartbeat", () => {
  const from = {
    definitions: { ...definitions, heartbeats: [aHeartbeat()] },
    whyOff: () => ["monitor.key"],
    snapshots: new Map(),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  };

  const named = listChecks(from).checks.map(({ missing_settings: names }) => names);

  expect(named).toEqual([["monitor.key"], undefined]);
});

it("the list of as many checks as there may be fits into an answer, in time", () => {
  const heartbeats = Array.from({ length: 20_000 }, (_, index) =>
    aHeartbeat({ id: `job-${index}` }),
  );
  const none = { snapshots: new Map(), days: new Map(), alertTime: new Map() };
  const startedMs = performance.now();

  const list = listChecks({ definitions: { apiChecks: [], heartbeats }, whyOff, ...none, nowMs });

  expect(JSON.stringify(list).length).toBeLessThan(20_000_000);
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});

function viewOfJob(changes: Partial<Heartbeat>, snapshot?: Partial<CheckSnapshot>) {
  const heartbeat = aHeartbeat({ id: "counts", job: "count-keys", ...changes });
  const shown = aSnapshot({ checkId: "counts", kind: "heartbeat", lastAtMs: null, ...snapshot });
  const from = {
    definitions: { apiChecks: [], heartbeats: [heartbeat] },
    whyOff,
    snapshots: new Map(snapshot === undefined ? [] : [["counts", shown]]),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  };
  return listChecks(from).checks[0];
}

it("a heartbeat that a job pings says for which job it waits, until that has run", () => {
  const reason = "waits for the first run of the job count-keys";
  const dueAtMs = nowMs + minute;

  expect(viewOfJob({})).toMatchObject({ status: "pending", reason });
  expect(viewOfJob({}, { status: "pending", dueAtMs, sinceMs: nowMs })).toMatchObject({
    status: "pending",
    reason,
  });
  expect(viewOfJob({}, { status: "ok", lastAtMs: nowMs, dueAtMs })).toMatchObject({
    status: "ok",
    reason: null,
  });
});

it("a heartbeat whose job is off names the settings that turn it on", () => {
  const off = { missingSettings: ["acme.names"] };
  const shown = { status: "paused", reason: null, missing_settings: ["acme.names"] };

  expect(viewOfJob(off)).toMatchObject(shown);
  expect(viewOfJob(off, { status: "paused" })).toMatchObject(shown);
});

it("a heartbeat whose row names no job any more is not set up", () => {
  const view = viewOfJob({ job: undefined }, { status: "paused" });

  expect(view).toMatchObject({
    status: "pending",
    reason: "not set up: `vedette heartbeats register counts` makes its ping URL",
  });
});

it("a check is quiet until the end of adjoining windows and mute", () => {
  const window = (from: number, to: number) => ({
    fromMs: nowMs + from * minute,
    toMs: nowMs + to * minute,
    reason: "upgrade",
    by: "ada",
  });
  const until = (mutedUntilMs: number | null, ...maintenance: ReturnType<typeof window>[]) => {
    const snapshots = new Map([
      ["verify-key", aSnapshot({ quiet: { mutedUntilMs, maintenance } })],
    ]);
    const from = { definitions, whyOff, snapshots, days: new Map(), alertTime: new Map(), nowMs };
    return listChecks(from).checks[0]?.quiet_until ?? null;
  };
  const at = (minutes: number) => new Date(nowMs + minutes * minute).toISOString();

  expect(until(null, window(2, 3), window(-1, 2), window(4, 5))).toBe(at(3));
  expect(until(nowMs + 2 * minute, window(1, 4))).toBe(at(4));
  expect(until(null, window(1, 2))).toBeNull();
  expect(until(nowMs - minute, window(-2, 0))).toBeNull();
});

it("the list names who muted it, as far as that is known", () => {
  const byOf = (quiet: CheckSnapshot["quiet"]) => {
    const snapshots = new Map([["verify-key", aSnapshot({ quiet })]]);
    const from = { definitions, whyOff, snapshots, days: new Map(), alertTime: new Map(), nowMs };
    return listChecks(from).checks[0]?.quiet_by;
  };
  const mutedUntilMs = nowMs + minute;

  expect(byOf({ mutedUntilMs, mutedBy: "ada", maintenance: [] })).toBe("ada");
  expect(byOf({ mutedUntilMs, maintenance: [] })).toBeNull();
});

const daily = aHeartbeat({ periodSeconds: 86_400, graceSeconds: 3_600 });

function viewHeartbeat(snapshot: Partial<CheckSnapshot>) {
  const taken = aSnapshot({ kind: "heartbeat", checkId: daily.id, ...snapshot });
  return listChecks({
    definitions: { apiChecks: [], heartbeats: [daily] },
    whyOff,
    snapshots: new Map([[daily.id, taken]]),
    days: new Map(),
    alertTime: new Map(),
    nowMs,
  }).checks[0];
}

it("a job that sent /start is ok while it runs", () => {
  const startedAtMs = nowMs - 10 * minute;
  const hourAgoMs = nowMs - 60 * minute;

  const view = viewHeartbeat({ lastAtMs: hourAgoMs, dueAtMs: startedAtMs + 60 * minute });

  expect(view?.status).toBe("ok");
});

it("a heartbeat is late from the end of its period on", () => {
  const dayAgoMs = nowMs - 24 * 60 * minute;
  const dueAtMs = nowMs + 60 * minute;

  expect(viewHeartbeat({ lastAtMs: dayAgoMs, dueAtMs })?.status).toBe("ok");
  expect(viewHeartbeat({ lastAtMs: dayAgoMs - 1, dueAtMs })?.status).toBe("late");
});

it("a heartbeat that nobody set up says so, and one by cron says when it is expected", () => {
  const nightly = aHeartbeat({
    id: "nightly",
    periodSeconds: undefined,
    schedule: { cron: "0 3 * * *", timezone: "UTC", dialect: "kubernetes" },
  });

  const [view] = listChecks({
    definitions: { apiChecks: [], heartbeats: [nightly] },
    whyOff: () => [],
    snapshots: new Map(),
    days: new Map(),
    alertTime: new Map(),
    nowMs: 0,
  }).checks;

  expect(view).toMatchObject({
    status: "pending",
    reason: "not set up: `vedette heartbeats register nightly` makes its ping URL",
    rule: { period_seconds: 86_400, cron: "0 3 * * * UTC (Kubernetes)" },
  });
});

it("the list names what suppresses a failed check, and nothing of one that does not fail", () => {
  const suppressed = { by: "database", sinceMs: 0, reason: "refused" };
  const viewOf = (status: "failed" | "silent") =>
    listChecks({
      definitions: { apiChecks: [anApiCheck()], heartbeats: [] },
      whyOff: () => [],
      snapshots: new Map([["verify-key", aSnapshot({ status, suppressed })]]),
      days: new Map(),
      alertTime: new Map(),
      nowMs: 0,
    }).checks[0];

  expect(viewOf("failed")?.suppressed_by).toBe("database");
  expect(viewOf("silent")?.suppressed_by).toBeNull();
});

/** `why`: by the check's id, why its alerts reach nobody. */
function listWith(why: Record<string, string | undefined>) {
  const apiChecks = Object.keys(why).map((id) => anApiCheck({ id }));
  const from = { whyOff, snapshots: new Map(), days: new Map(), alertTime: new Map(), nowMs };
  const whyNobody = ({ id }: { id: string }) => why[id];
  return listChecks({ ...from, definitions: { apiChecks, heartbeats: [] }, whyNobody });
}

it("a check whose alerts reach nobody says why", () => {
  const { checks } = listWith({ a: "it has no channel", b: undefined });

  expect(checks[0]).toHaveProperty("reaches_nobody", "it has no channel");
  expect(checks[1]).not.toHaveProperty("reaches_nobody");
});

it("the list says why no alert leaves the program, if none does", () => {
  const nobody = "incident.url is not set";

  expect(listWith({ a: nobody, b: nobody })).toHaveProperty("reaches_nobody", nobody);
  expect(listWith({ a: nobody, b: undefined })).not.toHaveProperty("reaches_nobody");
  expect(listWith({})).not.toHaveProperty("reaches_nobody");
});

it("the reason why no alert leaves follows from the definitions alone", () => {
  const definitions = {
    apiChecks: [anApiCheck({ id: "a", channel: null }), anApiCheck({ id: "b" })],
    heartbeats: [],
  };
  const why: Record<string, string> = { a: "it has no channel", b: "incident.url is not set" };

  expect(nobodyOf(definitions, ({ id }) => why[id])).toBe("incident.url is not set");
  expect(nobodyOf(definitions, ({ id }) => (id === "a" ? why[id] : undefined))).toBeUndefined();
});
