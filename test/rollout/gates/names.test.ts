import { describe, expect, it } from "vitest";
import { GateRow, Gates } from "#rollout/gates/contract.ts";
import { gatesOf } from "#rollout/gates/registry.ts";

const metrics = (name?: string) => ({ kind: "prometheus", query: "up", pass: "== 1", name });
const pause = (name?: string) => ({ kind: "pause", name });
const liveness = { checks: ["liveness"], clean_runs: 1, timeout_seconds: 600 };
const namesOf = (rows: unknown[], gate?: { checks: string[] }) =>
  gatesOf({ gates: Gates.parse(rows), ...(gate && { gate: { ...liveness, ...gate } }) }, []).map(
    ({ name }) => name,
  );

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
    expect(() => Gates.parse(["a", pause("a")])).toThrow("same name");
  });
});

describe("the gates of the definitions", () => {
  const rows = [
    { ...metrics(), id: "errors" },
    { ...pause(), id: "checks", default: true },
  ].map((row) => GateRow.parse(row));
  const [errors, checks] = rows.map(({ id: name, default: _, ...row }) => ({ ...row, name }));

  it("are named by their id, beside gates of the request, which take no name of theirs", () => {
    const found = gatesOf({ gate: liveness, gates: Gates.parse(["checks", "errors"]) }, rows);

    expect(found).toEqual([{ kind: "checks", name: "checks-2", ...liveness }, checks, errors]);
  });

  it.each([
    ["has neither gate nor gates", {}, [checks]],
    ["has a gate", { gate: liveness }, [{ kind: "checks", name: "checks", ...liveness }]],
    ["has gates", { gates: ["errors"] }, [errors]],
    ["wants none", { gates: [] }, []],
  ])("that are default are of a request only if it names none: it %s", (_, request, expected) => {
    expect(gatesOf(request, rows)).toEqual(expected);
  });

  it("are refused under a name that no row has, with the nearest", () => {
    expect(() => gatesOf({ gates: ["eror"] }, rows)).toThrow(
      "there is no gate of the definitions eror: did you mean errors?",
    );
    expect(() => gatesOf({ gates: ["eror"] }, [])).toThrow("there are none");
  });

  it("have no other name than their id", () => {
    const named = GateRow.safeParse({ ...pause("other"), id: "sign-off" });

    expect(named.error?.issues[0]).toMatchObject({
      path: ["name"],
      message: "is the id here: leave it out",
    });
  });
});
