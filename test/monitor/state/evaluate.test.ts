/** The rows of one transaction, decided together. */
import { expect, it } from "vitest";
import type { BlamedAlert } from "#blame/contract.ts";
import type { Queries } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import {
  type EvaluateParts,
  evaluateAll,
  type Input,
  type Known,
} from "#monitor/state/evaluate.ts";
import { type ApiRow, newEffects, type Row } from "#monitor/state/row.ts";
import type { DependencyRow } from "#monitor/state/rows.ts";
import { aCheckResult, aHeartbeat, anApiCheck } from "../../support/monitor/check-builders.ts";
import { aHeartbeatRow, anApiRow } from "../../support/monitor/check-rows.ts";
import { neverAsked } from "../../support/never-asked.ts";

const nowMs = 100_000_000;
const rollout = { rolloutId: "ro_1", fleet: "singleton", image: "a", wave: 2 };
const alert = {
  episode: 2,
  openedAtMs: 0,
  reason: "local: refused",
  locations: ["local"],
  acknowledged: null,
  rollout: null,
};
const addressee = { name: "Probe", environment: "production", channel: "production" } as const;
const suppressed = { by: "database", sinceMs: 1_000, reason: "local: refused" };

type Given = {
  rows: Record<string, Row>;
  apiChecks?: ApiCheck[];
  heartbeats?: Heartbeat[];
  inputs?: Input[];
  parts?: Partial<EvaluateParts>;
  /** Rows of others, in the database. */
  others?: Record<string, DependencyRow>;
};

/** Decides these rows, and counts the questions that were asked. */
async function evaluate(given: Given) {
  const { rows, apiChecks = [], heartbeats = [], inputs = [], parts = {}, others = {} } = given;
  const asked = { rollouts: 0, others: 0 };
  const tx = {
    query: async (_: unknown, [ids]: [string[]]) => {
      asked.others += 1;
      const found = ids.flatMap((id) => {
        const other = others[id];
        return other === undefined ? [] : { id, row: other.row, ping_ms: other.lastPingAtMs };
      });
      return { rows: found };
    },
  };
  const known: Known = {
    definitions: {
      apiChecks: new Map(apiChecks.map((check) => [check.id, check])),
      heartbeats: new Map(heartbeats.map((heartbeat) => [heartbeat.id, heartbeat])),
    },
    inputs: Map.groupBy(inputs, ({ id }) => id),
    nowMs,
    pings: new Map(),
    absences: { spans: [], isDoubtful: false },
    further: [],
    rollout: undefined,
    blame: null,
    others: new Map(),
  };
  const decided = await evaluateAll(tx as unknown as Queries, {
    parts: {
      whyOff: () => [],
      readRollout: async () => {
        asked.rollouts += 1;
        return rollout;
      },
      readBlame: async () => () => [],
      settings: { location: "local", failedAtPercent: 0, runsHere: false },
      log: createLog({ level: "silent", format: "json" }),
      ...parts,
    },
    rows: Object.entries(rows).map(([id, row]) => ({ id, row, wakeAtMs: null })),
    known,
  });
  const outcomes = new Map(decided.outcomes.map((outcome) => [outcome.id, outcome]));
  return { ...decided, asked, outcome: (id: string) => outcomes.get(id) };
}

/** A run has begun; its report says that it failed. */
function failing(id: string): { row: ApiRow; input: Input } {
  const scheduledAtMs = nowMs - 100;
  const run = {
    scheduledAtMs,
    expected: ["local"],
    results: [],
    closesAtMs: null,
    retryAtMs: null,
  };
  const result = aCheckResult({ checkId: id, scheduledAtMs, grade: "failed", reason: "refused" });
  const report = { scheduledAtMs, results: [result] };
  return { row: { ...anApiRow(), run }, input: { id, report } };
}

it("a check that becomes a heartbeat ends its alert, and counts its episodes on", async () => {
  const row = { ...anApiRow({ status: "failed", episodes: 2, alert }), addressee };

  const { outcome, effects } = await evaluate({
    rows: { probe: row },
    heartbeats: [aHeartbeat({ id: "probe" })],
  });

  expect(effects.transitions).toMatchObject([{ eventId: "probe:2:resolved" }]);
  expect(outcome("probe")?.decided.row).toMatchObject({
    kind: "heartbeat",
    state: { episodes: 2, alert: null },
  });
});

it.each([
  ["a check", { ...anApiRow({ status: "failed", suppressed }), recorded: suppressed }],
  ["a heartbeat", { ...aHeartbeatRow({ status: "silent", suppressed }), recorded: suppressed }],
])("%s that becomes one of the other kind ends its suppression", async (_, row: Row) => {
  const isCheck = row.kind === "api";

  const { outcome, effects } = await evaluate({
    rows: { probe: row },
    apiChecks: isCheck ? [] : [anApiCheck({ id: "probe" })],
    heartbeats: isCheck ? [aHeartbeat({ id: "probe" })] : [],
  });

  expect(effects.suppressions).toMatchObject([
    { checkId: "probe", by: "database", untilMs: nowMs },
  ]);
  expect(outcome("probe")?.decided.row.recorded).toBeNull();
});

it("a row that cannot be decided is left as it is for a minute, and holds up no other", async () => {
  const [bad, good] = [failing("bad"), failing("good")];
  const whyOff = ({ id }: { id: string }) => {
    if (id === "bad") throw new Error("a bug");
    return [];
  };

  const { outcome, effects } = await evaluate({
    rows: { bad: bad.row, good: good.row },
    apiChecks: [anApiCheck({ id: "bad" }), anApiCheck({ id: "good" })],
    inputs: [bad.input, good.input],
    parts: { whyOff },
  });

  expect(outcome("bad")?.decided).toEqual({ row: bad.row, wakeAtMs: nowMs + 60_000 });
  expect(effects.transitions.map(({ eventId }) => eventId)).toEqual(["good:1:opened"]);
});

it("a change that is refused changes nothing, and is the only one that is", async () => {
  const muted = { mutedUntilMs: nowMs + 1_000, maintenance: [] };
  const refused: Input = {
    id: "probe",
    change: () => {
      throw new Error("refused");
    },
  };
  const made: Input = { id: "probe", change: (row) => ({ ...row, quiet: muted }) };

  const { outcome } = await evaluate({
    rows: { probe: anApiRow() },
    apiChecks: [anApiCheck({ id: "probe" })],
    inputs: [refused, made],
  });

  expect([...(outcome("probe")?.refused.keys() ?? [])]).toEqual([refused]);
  expect(outcome("probe")?.decided.row.quiet).toEqual(muted);
});

it("a change learns that its row is of what was removed, or became of the other kind", async () => {
  const seen: unknown[] = [];
  const change: Input["change"] = (row, { isDefined }) => {
    seen.push([row.kind, isDefined]);
    return row;
  };

  await evaluate({
    rows: { gone: anApiRow(), other: anApiRow(), probe: anApiRow() },
    apiChecks: [anApiCheck({ id: "probe" })],
    heartbeats: [aHeartbeat({ id: "other" })],
    inputs: ["gone", "other", "probe"].map((id) => ({ id, change })),
    parts: { settings: { location: "local", failedAtPercent: 0, runsHere: true } },
  });

  expect(seen).toEqual([
    ["api", false],
    ["heartbeat", true],
    ["api", true],
  ]);
});

it("what a change has sent is sent once, although the row is decided twice", async () => {
  const { row, input } = failing("probe");
  const order = neverAsked<never>();
  const change: Input = {
    id: "probe",
    change: (before, at) => {
      at.effects.orders.push({ queue: "probe", order });
      return before;
    },
  };

  const { effects, asked } = await evaluate({
    rows: { probe: row },
    apiChecks: [anApiCheck({ id: "probe" })],
    inputs: [change, input],
  });

  expect(asked.rollouts).toBe(1);
  expect(effects.orders.filter((one) => one.order === order)).toHaveLength(1);
});

const suspect = {
  id: "ro_1:wave-2",
  kind: "rollout",
  atMs: 1,
  who: null,
  score: 0.9,
  text: "wave 2",
} as const;

it("an alert that opens names what changed, in its event, its orders and the row, asked with its place and times", async () => {
  const { row, input } = failing("gw-eu");
  const asked: BlamedAlert[] = [];
  const blame = (alert: BlamedAlert) => {
    asked.push(alert);
    return [suspect];
  };

  const { effects, outcomes } = await evaluate({
    rows: { "gw-eu": row },
    apiChecks: [anApiCheck({ id: "gw-eu", channel: "production", frequencySeconds: 60 })],
    inputs: [input],
    parts: { readBlame: async () => blame },
  });

  expect(effects.transitions).toMatchObject([{ kind: "opened", changes: [suspect] }]);
  expect(effects.orders).toMatchObject([{ order: { transition: { changes: [suspect] } } }]);
  expect(outcomes[0]?.decided.row.state?.alert?.changes).toEqual([suspect]);
  expect(asked).toMatchObject([{ failedAtMs: nowMs, place: { check: ["gw-eu"] } }]);
  expect(asked[0]?.place.names).toContain("gw-eu");
  expect(asked[0]?.goodAtMs).toBeLessThan(nowMs);
});

it("an alert opens without them if what changed cannot be read", async () => {
  const { row, input } = failing("probe");

  const { effects } = await evaluate({
    rows: { probe: row },
    apiChecks: [anApiCheck({ id: "probe" })],
    inputs: [input],
    parts: { readBlame: () => Promise.reject(new Error("away")) },
  });

  expect(effects.transitions).toMatchObject([{ kind: "opened" }]);
  expect(effects.transitions[0]).not.toHaveProperty("changes");
});

it("the rollout is read once for all alerts that open, and not without one", async () => {
  const [one, two] = [failing("one"), failing("two")];
  const apiChecks = [anApiCheck({ id: "one" }), anApiCheck({ id: "two" })];
  const rows = { one: one.row, two: two.row };

  const opened = await evaluate({ rows, apiChecks, inputs: [one.input, two.input] });
  const well = await evaluate({ rows, apiChecks });

  expect(opened.effects.transitions).toMatchObject([{ rollout }, { rollout }]);
  expect([opened.asked.rollouts, well.asked.rollouts]).toEqual([1, 0]);
  expect(well.effects).toEqual(newEffects());
});

it("what a check depends on is read only when its alert would open", async () => {
  const { row, input } = failing("shop");
  const dependsOn = [{ id: "database", kind: "api" as const }];
  const apiChecks = [anApiCheck({ id: "shop", dependsOn }), anApiCheck({ id: "database" })];
  const others = {
    database: {
      row: anApiRow({ status: "failed", alert, decidedRunMs: nowMs - 50 }),
      lastPingAtMs: null,
    },
  };

  const failed = await evaluate({ rows: { shop: row }, apiChecks, inputs: [input], others });
  const well = await evaluate({ rows: { shop: row }, apiChecks, others });

  expect(failed.effects.transitions).toEqual([]);
  expect(failed.effects.suppressions).toMatchObject([{ checkId: "shop", by: "database" }]);
  expect([failed.asked.others, well.asked.others]).toEqual([1, 0]);
});
