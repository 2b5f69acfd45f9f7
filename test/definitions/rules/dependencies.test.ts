import { expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { lintDependencies } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";

const check = (id: string, dependsOn: string[]) => CheckRow.parse({ id, path: "/", dependsOn });
const heartbeat = (id: string, dependsOn: string[]) =>
  HeartbeatRow.parse({ id, periodSeconds: 60, graceSeconds: 0, dependsOn });

const linesOf = (set: Partial<DefinitionSet>) =>
  lintDependencies({ ...emptySet, ...set }).map(({ section, key, field = [], message }) =>
    [[section, key, ...field].join("."), message].join(": "),
  );

it("the rule finds nothing where several rows depend on the same ones", () => {
  const checks = [check("a", ["b", "c"]), check("b", ["c", "job"]), check("c", [])];
  const heartbeats = [heartbeat("job", ["c"])];

  expect(linesOf({ checks, heartbeats })).toEqual([]);
});

it.each<[string, Partial<DefinitionSet>, string]>([
  ["an unknown id", { checks: [check("a", ["x"])] }, "checks.a.dependsOn.0: there is no such"],
  ["the row itself", { checks: [check("a", ["a"])] }, "checks.a.dependsOn.0: is the row itself"],
  [
    "an id that is named twice",
    { checks: [check("a", ["b", "b"]), check("b", [])] },
    "checks.a.dependsOn.1: is named twice",
  ],
])("finds %s", (_, set, line) => {
  expect(linesOf(set)[0]).toContain(line);
});

it("the rule names the way of a circle at each of its rows, and not at those before it", () => {
  const checks = [check("before", ["a"]), check("a", ["b"]), check("b", ["job"])];
  const heartbeats = [heartbeat("job", ["a"])];

  expect(linesOf({ checks, heartbeats })).toEqual([
    "checks.a.dependsOn: depends on itself: a, then b, then job, then a. Leave out one of them",
    "checks.b.dependsOn: depends on itself: b, then job, then a, then b. Leave out one of them",
    "heartbeats.job.dependsOn: depends on itself: job, then a, then b, then job. Leave out one of them",
  ]);
});

it("the rule follows a long chain", () => {
  const checks = Array.from({ length: 2_000 }, (_, n) =>
    check(`c${n}`, n === 0 ? [] : [`c${n - 1}`]),
  );

  expect(linesOf({ checks: checks.toReversed() })).toEqual([]);
});

it("the monitor gets the kind of each dependency", () => {
  const set = { ...emptySet, checks: [check("a", ["job"])], heartbeats: [heartbeat("job", [])] };

  const { apiChecks, heartbeats } = toMonitored(set);

  expect(apiChecks[0]?.dependsOn).toEqual([{ id: "job", kind: "heartbeat" }]);
  expect(heartbeats[0]).not.toHaveProperty("dependsOn");
});
