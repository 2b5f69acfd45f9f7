/** Names that every object has a member of, for sentinels and checks: they stop neither the reconciler nor the ranking of changes. */
import { expect, it } from "vitest";
import { rank } from "#blame/rank.ts";
import { planConvergence, recordTries } from "#rollout/desired/converge.ts";

const names = ["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__"];

const driftOf = (id: string) => ({
  ...{ id, desired: "r.example/a:v1", running: "r.example/a:v2", why: "drifted" as const },
  ...{ sinceMs: 0, isConfirmed: true, isHeld: false },
});

it.each(names)("a sentinel called %s is brought back like any other", (name) => {
  const drifts = [driftOf("gw-1"), driftOf(name)];
  const plan = { image: "r.example/a:v1", ids: ["gw-1"] };
  const tries = recordTries({}, { drifts, plan, nowMs: 1_000 });

  const next = planConvergence({ drifts, tries, state: "completed", nowMs: 2_000 });

  expect(next?.ids).toEqual([name]);
  const after = recordTries(tries, { drifts, plan: next, nowMs: 2_000 });
  const stored = JSON.parse(JSON.stringify(after)) as typeof after;
  expect(
    planConvergence({ drifts, tries: stored, state: "completed", nowMs: 3_000 }),
  ).toBeUndefined();
});

it.each(names)("the change of a check called %s explains its alert", (name) => {
  const suspects = rank(
    { goodAtMs: 10_000, failedAtMs: 20_000, place: { names: [name], check: [name] } },
    [
      {
        ...{ id: "definitions:2", kind: "definitions", atMs: 15_000, who: "ada" },
        summary: "revision 2 of the definitions changed 1 of checks",
        reach: { of: "check", touched: Object.fromEntries([[name, 1]]), total: 20 },
      },
    ],
  );

  expect(suspects).toMatchObject([{ id: "definitions:2", score: expect.any(Number) }]);
});
