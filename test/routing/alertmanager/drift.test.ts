import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { type Drift, readDrifts, registerDrifts } from "#routing/alertmanager/drift.ts";
import type { Comparison } from "#routing/alertmanager/keep.ts";

const change = { path: "route.receiver", before: "a", after: "b" };

const drifted: [string, Comparison][] = [
  ["in_step", { changes: [], running: "in_step", isInStep: true }],
  ["in_step", { changes: [], running: "not_asked", isInStep: true }],
  ["drifted", { changes: [], running: "not_reloaded", isInStep: false }],
  ["drifted", { changes: [], running: "refused", isInStep: false }],
  ["drifted", { changes: [change], running: "in_step", isInStep: false }],
  ["drifted", { changes: [change], running: "unknown", reason: "away", isInStep: false }],
  ["unknown", { changes: [], running: "unknown", reason: "away", isInStep: false }],
];

it.each(drifted)("the metric of drift is %s for %j", async (state, comparison) => {
  const drifts = await readDrifts([{ environment: "staging", compare: async () => comparison }]);

  expect(drifts).toMatchObject([{ environment: "staging", state }]);
});

it("the drift lists the differences, and why the running configuration is unknown", async () => {
  const comparison = drifted[5]?.[1] as Comparison;

  const [drift] = await readDrifts([{ environment: "staging", compare: async () => comparison }]);

  expect(drift?.lines).toEqual([
    "route.receiver: a → b",
    "The configuration that the alert manager runs is unknown: away",
  ]);
});

it("the drift is unknown where the comparison fails, and the others are compared all the same", async () => {
  const drifts = await readDrifts([
    { environment: "production", compare: async () => Promise.reject(new Error("set it first")) },
    { environment: "staging", compare: async () => drifted[0]?.[1] as Comparison },
  ]);

  expect(drifts).toMatchObject([
    { state: "unknown", lines: ["set it first"] },
    { state: "in_step" },
  ]);
});

it("the metric of drift is absent while it is unknown", async () => {
  const registry = new Registry();
  let state: Drift["state"] = "drifted";
  registerDrifts(async () => [{ environment: "production", state, lines: [] }], registry);
  const read = async () =>
    /vedette_alertmanager_in_step\{environment="production"\} (\d)/.exec(
      await registry.metrics(),
    )?.[1];

  const values = [await read()];
  state = "in_step";
  values.push(await read());
  state = "unknown";
  values.push(await read());

  expect(values).toEqual(["0", "1", undefined]);
});
