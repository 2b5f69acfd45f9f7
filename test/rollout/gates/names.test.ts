import { describe, expect, it } from "vitest";
import { Gates } from "#rollout/gates/contract.ts";
import { gatesOf } from "#rollout/gates/registry.ts";

const metrics = (name?: string) => ({ kind: "prometheus", query: "up", pass: "== 1", name });
const pause = (name?: string) => ({ kind: "pause", name });
const namesOf = (rows: object[], gate?: { checks: string[] }) =>
  gatesOf({
    gates: Gates.parse(rows),
    ...(gate && { gate: { ...gate, clean_runs: 1, timeout_seconds: 600 } }),
  }).map(({ name }) => name);

describe("the names of gates", () => {
  it("are the kind, with a number from the second on", () => {
    expect(namesOf([metrics(), pause(), metrics()])).toEqual([
      "prometheus",
      "pause",
      "prometheus-2",
    ]);
  });

  it("without one in the request are none that another gate was given", () => {
    const rows = [metrics(), metrics("prometheus"), pause("checks")];

    expect(namesOf(rows, { checks: ["liveness"] })).toEqual([
      ...["checks-2", "prometheus-2", "prometheus", "checks"],
    ]);
  });

  it("are refused if two gates are given the same: one would be read by the rule of the other", () => {
    expect(() => Gates.parse([metrics("a"), pause("a")])).toThrow("same name");
  });
});
