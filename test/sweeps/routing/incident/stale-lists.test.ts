/** Lists that are behind: with kills around each creation and answers that are lost. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { applyAll } from "#routing/incident/apply.ts";
import type { OwnedRoute } from "#routing/incident/contract.ts";
import { evaluateDrift } from "#routing/incident/drift.ts";
import type { OpenCreations } from "#routing/incident/internal.ts";
import { planRows } from "#routing/incident/plan.ts";
import { createReader, createService } from "#routing/incident/service.ts";
import { retryLimits, type Steps } from "#routing/incident/steps.ts";
import { readSurvey } from "#routing/incident/survey.ts";
import { routes, sources } from "../../../support/monitor/standard-definitions.ts";
import { type CrashPoint, runCrashing } from "../../../support/program/crashing-steps.ts";
import { createIncidentDouble, type Fault } from "../../../support/routing/incident-double.ts";
import { aForeignRoute } from "../../../support/routing/route-histories.ts";

const rows = { routes: routes.slice(0, 3), sources };
const names = rows.routes.map(({ name }) => name);
const given = {
  sources: {},
  attributes: {},
  escalation_paths: {},
  channels: { "#alerts": "C0123" },
  operations: { one_of: "one_of", none_of: "not_one_of", is_set: "is_set", is_not_set: "unset" },
};
const head = { incident_url: "http://double", made_at: "2026-11-21T00:00:00.000Z" };
const atOnce: Steps = { run: (_name, action) => action(), sleep: async () => {} };

/** The lists of the double are behind by `lagMs` of a clock that only sleeps and crashes advance. */
function begin(lagMs: number) {
  const double = createIncidentDouble({
    sources: sources.map(({ name, title }) => ({ id: `01SOURCE-${name}`, name: title })),
  });
  const clock = { nowMs: 0 };
  Object.assign(double.lag, { lagMs, now: () => clock.nowMs });
  return { double, clock, owned: {} as Record<string, OwnedRoute>, creations: {} as OpenCreations };
}

type World = ReturnType<typeof begin>;

async function tryPlan({ double, owned }: World) {
  const reader = createReader(double.send);
  const tools = { steps: atOnce, retryLimits: retryLimits.worker };
  const known = Object.values(owned).map(({ id }) => id);
  const survey = await readSurvey(reader, tools, known);
  if (survey.kind === "failed") throw new Error(survey.reason);
  return planRows({ rows, given, survey: survey.value, owned }, head);
}

async function plan(world: World) {
  const planned = await tryPlan(world);
  if (!("plan" in planned)) throw new Error(planned.faults.join());
  return planned.plan;
}

/** A process that ends begins anew after `downMs`. */
async function apply(world: World, crashes: Map<number, CrashPoint>, downMs: number) {
  const { double, clock, owned } = world;
  const request = { plan: await plan(world), adopt: false, prune: false };
  const order = {
    request,
    owned: { ...owned },
    startedAtMs: clock.nowMs,
    creations: { ...world.creations },
  };
  return runCrashing(crashes, (steps) => {
    clock.nowMs += downMs;
    const timed: Steps = {
      run: steps.run,
      sleep: (ms) =>
        steps.run("sleep", async () => {
          clock.nowMs += ms;
        }),
    };
    return applyAll(order, {
      steps: timed,
      retryLimits: retryLimits.worker,
      service: createService(double.send),
      listLagMs: 15_000,
      intend: ({ name, declared }) =>
        steps.run("intend", async () => {
          world.creations[name] = { begun_at: new Date(clock.nowMs).toISOString(), declared };
        }),
      saveBackup: async () => null,
      record: ({ result, owned: known }) =>
        steps.run("note", async () => {
          if (known) owned[result.name] = known;
        }),
    });
  });
}

const creations = names.map((name) => `POST ${name}`);

it.each([2_000, 5_000, 10_000])(
  "makes each route once whichever step it is killed at, with lists %i ms behind",
  async (lagMs) => {
    for (const point of ["before", "unkept"] as const) {
      let isReached = true;
      for (let step = 0; isReached; step += 1) {
        const world = begin(lagMs);
        const crashes = new Map([[step, point]]);

        const results = await apply(world, crashes, 300);
        isReached = crashes.size === 0;

        const where = `${point} step ${step}`;
        expect(world.double.writes, where).toEqual(creations);
        expect(
          results.routes.map(({ outcome }) => outcome),
          where,
        ).toEqual(names.map(() => "created"));
      }
    }
  },
  120_000,
);

it.each([2_000, 5_000, 10_000])(
  "takes up what an apply made that was killed for good, with lists %i ms behind",
  async (lagMs) => {
    const world = begin(lagMs);
    const { double, clock, owned } = world;
    const [first = ""] = names;
    const { declared = {} } = (await plan(world)).routes[0] ?? {};
    const begun_at = new Date(clock.nowMs).toISOString();
    double.add({ ...aForeignRoute(first), ...declared });
    world.creations[first] = { begun_at, declared };

    const { routes: results, doubled } = await apply(world, new Map(), 0);

    expect(double.writes).toEqual(creations.slice(1));
    expect(results.map(({ outcome }) => outcome)).toEqual(names.map(() => "created"));
    expect(owned[first]?.id).toBe("01ROUTE1");
    expect(doubled).toEqual([]);
  },
);

it.each([
  ["one of them ours", "01ROUTE1"],
  ["none of them known to be ours", null],
])("names two routes of one name, %s", async (_what, ours) => {
  const world = begin(0);
  const [first = ""] = names;
  await apply(world, new Map(), 0);
  world.double.add(aForeignRoute(first));
  if (ours === null) world.owned = {};

  const planned = await tryPlan(world);

  const doubled = "plan" in planned ? planned.plan.doubled : planned.doubled;
  expect(doubled).toMatchObject([{ name: first, ids: ["01ROUTE1", "01ROUTE4"], ours }]);
  expect(doubled[0]?.advice).toMatch(/disable or delete 01ROUTE4|keep one/);
  expect(evaluateDrift(planned, world.owned)).toMatchObject({ state: "drifted", doubled });
});

it("names a namesake at the end of an apply, and none that is disabled", async () => {
  const world = begin(0);
  const [first = "", second = ""] = names;
  await apply(world, new Map(), 0);
  world.double.add(aForeignRoute(first));
  world.double.add({ ...aForeignRoute(second), enabled: false });

  const { doubled } = await apply(world, new Map(), 0);

  expect(doubled.map(({ name }) => name)).toEqual([first]);
});

it("does not take a route of ours for deleted that lists do not show yet", async () => {
  const world = begin(10_000);
  await apply(world, new Map(), 0);

  const planned = await plan(world);

  expect(planned.routes.map(({ action }) => action)).toEqual(names.map(() => "none"));
});

const lostAnswer = fc.constantFrom<Fault | undefined>(
  "lost_after",
  "error_after",
  "lost_before",
  "busy",
  "wait_seconds",
  undefined,
  undefined,
);
const crash = fc.tuple(fc.nat(40), fc.constantFrom<CrashPoint>("before", "unkept"));

it("makes each route once, however answers are lost and the process is killed", async () => {
  const history = fc.record({
    lagMs: fc.constantFrom(2_000, 5_000, 10_000),
    downMs: fc.constantFrom(0, 300, 3_000),
    faults: fc.array(lostAnswer, { maxLength: 4 }),
    crashes: fc.array(crash, { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ lagMs, downMs, faults, crashes }) => {
      const world = begin(lagMs);
      const left = [...faults];
      world.double.behave = ({ method }) => (method === "GET" ? undefined : left.shift());

      const results = await apply(world, new Map(crashes), downMs);

      expect(world.double.writes).toEqual(creations);
      expect(results.routes.map(({ outcome }) => outcome)).toEqual(names.map(() => "created"));
    }),
    { numRuns: 500 },
  );
}, 120_000);
