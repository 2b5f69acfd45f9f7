/** Random histories: others edit and the service fails at every request, and the process crashes. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { applyAll } from "#routing/incident/apply.ts";
import { digestOf, toContent } from "#routing/incident/content.ts";
import type { Content, OwnedRoute, Plan, RouteResult } from "#routing/incident/contract.ts";
import { declareRoute } from "#routing/incident/declared.ts";
import { isInStep } from "#routing/incident/overlay.ts";
import { planRows } from "#routing/incident/plan.ts";
import { resolveIds } from "#routing/incident/resolve.ts";
import { createReader, createService } from "#routing/incident/service.ts";
import { retryLimits, type Steps } from "#routing/incident/steps.ts";
import { readSurvey } from "#routing/incident/survey.ts";
import { readOnly } from "#routing/incident/transport.ts";
import { routes, sources } from "../../support/monitor/standard-definitions.ts";
import { runCrashing } from "../../support/program/crashing-steps.ts";
import {
  createIncidentDouble,
  type IncidentDouble,
} from "../../support/routing/incident-double.ts";
import {
  aForeignRoute,
  anyHistory,
  edited,
  type History,
  makeEdit,
  routeSaying,
} from "../../support/routing/route-histories.ts";

// Four rows are enough: routes do not know each other.
const rows = { routes: routes.slice(0, 4), sources };
const names = rows.routes.map(({ name }) => name);
const directory = {
  sources: sources.map(({ name, title }) => ({ id: `01SOURCE-${name}`, name: title })),
  attributes: ["severity", "branch"].map((name) => ({ id: `01ATTR${name}`, name })),
  escalationPaths: [{ id: "01PATH", name: "Engineering On-Call" }],
};
const given = {
  sources: {},
  attributes: {},
  escalation_paths: {},
  channels: { "#alerts": "C0123" },
  operations: { one_of: "one_of", none_of: "not_one_of", is_set: "is_set", is_not_set: "unset" },
};
const { ids } = resolveIds(rows, given, directory);
const declared = rows.routes.map((row) => declareRoute(row, ids));

const atOnce: Steps = { run: (_name, action) => action(), sleep: async () => {} };
const head = { incident_url: "http://double", made_at: "2026-11-21T00:00:00.000Z" };

type World = { double: IncidentDouble; owned: Record<string, OwnedRoute>; backup?: Content[] };

function begin({ before, others, conflictStatus }: History): World {
  const double = createIncidentDouble({ conflictStatus, sources: directory.sources });
  // So that what is stored can be held against what was declared; read-back.test.ts has the other names.
  double.readBack = {};
  const owned: World["owned"] = {};
  for (let n = 0; n < others; n += 1) double.add(aForeignRoute(`Theirs ${n}`));
  before.forEach((state, i) => {
    if (state === "absent") return;
    const said = declared[i] ?? {};
    const content = routeSaying(said);
    const differs = state === "differs" || state === "ours_differs";
    const { id } = double.add(differs ? edited(content, "channel") : content);
    if (state === "ours_gone") double.routes.delete(id);
    if (state.startsWith("ours")) {
      owned[names[i] ?? ""] = { id, declared: said, disabled_digest: null };
    }
  });
  return { double, owned };
}

async function plan({ double, owned }: World) {
  const tools = { steps: atOnce, retryLimits: retryLimits.worker };
  const survey = await readSurvey(createReader(readOnly(double.send)), tools);
  if (survey.kind === "failed") throw new Error(survey.reason);
  return planRows({ rows, given, survey: survey.value, owned }, head);
}

type Wanted = { plan: Plan; adopt: boolean; crashes?: History["crashes"] };

async function apply(world: World, { plan, adopt, crashes = new Map() }: Wanted) {
  const { double } = world;
  const writesBefore = double.writes.length;
  // As it was when the apply began, also after a crash.
  const request = { plan, adopt, prune: false };
  const order = { request, owned: { ...world.owned }, startedAtMs: 0, creations: {} };
  const { routes: results } = await runCrashing(crashes, (steps) =>
    applyAll(order, {
      steps,
      retryLimits: retryLimits.worker,
      service: createService(double.send),
      listLagMs: 3_000,
      intend: () => steps.run("intend", async () => {}),
      saveBackup: (details) =>
        steps.run("save-backup", async () => {
          if (double.writes.length > writesBefore) double.faults.push("a backup after a write");
          world.backup = details;
          return null;
        }),
      record: ({ result, owned: known }) =>
        steps.run("note", async () => {
          if (known) world.owned[result.name] = known;
          if (isFine(result) && !isAsDeclared(double, result)) {
            double.faults.push(`${result.name} is ${result.outcome}, and not as declared`);
          }
        }),
    }),
  );
  return results;
}

/** Watches each write of ours: it may only go over what its plan has shown. */
function watch({ double, owned }: World, wanted: Wanted): void {
  const ours = new Set(Object.values(owned).map(({ id }) => id));
  double.onWrite = (call, stored) => {
    const fault =
      stored === undefined
        ? judgeCreation(double, call.body as Content)
        : judgeUpdate(stored, toContent(call.body as Content), wanted.plan);
    if (stored !== undefined && !wanted.adopt && !ours.has(stored.id)) {
      double.faults.push(`took over ${stored.content["name"]}`);
    }
    if (fault !== undefined) double.faults.push(fault);
  };
}

function judgeCreation({ routes: present }: IncidentDouble, { name }: Content): string | undefined {
  const isTwin = [...present.values()].some(
    ({ isOurs, content }) => isOurs && content["name"] === name,
  );
  return isTwin ? `a second ${name}` : undefined;
}

function judgeUpdate(
  { id, content }: { id: string; content: Content },
  next: Content,
  plan: Plan,
): string | undefined {
  const { name } = content;
  const planned = plan.routes.find((route) => route.id === id);
  if (planned?.base?.digest !== digestOf(content)) return `went over a change of ${name}`;
  if (digestOf(next) === digestOf(content)) return `wrote ${name}, which was in step`;
  const notOurs = ["incident_template", "of_next_year", "expressions"];
  const says = (whole: Content, field: string) => digestOf({ [field]: whole[field] ?? null });
  const changed = notOurs.find((field) => says(next, field) !== says(content, field));
  return changed === undefined ? undefined : `changed ${changed} of ${name}`;
}

function isAsDeclared({ routes: present }: IncidentDouble, { id, name }: RouteResult): boolean {
  const content = present.get(id ?? "")?.content;
  return content !== undefined && isInStep(content, declared[names.indexOf(name)] ?? {});
}

const isFine = ({ outcome }: RouteResult) => ["created", "updated", "in_step"].includes(outcome);

/** What happens from here on at each request; once it is over all is calm. */
function play({ double }: World, events: History["events"]): void {
  const left = [...events];
  double.behave = () => {
    const { fault, edit } = left.shift() ?? {};
    if (edit !== undefined) makeEdit(double, edit, names);
    return fault;
  };
}

/** Someone sorts out what stands twice, and all is calm. */
function calmDown(world: World): void {
  const { double, owned } = world;
  double.behave = () => undefined;
  double.onWrite = () => {};
  const mine = new Set(Object.values(owned).map(({ id }) => id));
  for (const name of names) {
    const namesakes = [...double.routes.values()].filter(({ content }) => content["name"] === name);
    const kept = namesakes.find(({ id }) => mine.has(id)) ?? namesakes[0];
    for (const route of namesakes) if (route !== kept) double.routes.delete(route.id);
  }
}

const calm: Omit<History, "before"> = {
  conflictStatus: 409,
  others: 1,
  adopt: true,
  events: [],
  crashes: new Map(),
};

it.each(["before", "unkept"] as const)(
  "writes each route once when the process ends at any one step, %s",
  async (point) => {
    let isReached = true;
    for (let step = 0; isReached; step += 1) {
      const world = begin({
        ...calm,
        before: ["absent", "differs", "ours_gone", "ours_differs"],
      });
      const first = await plan(world);
      if (!("plan" in first)) throw new Error(first.faults.join());

      const crashes = new Map([[step, point]]);
      const results = await apply(world, { plan: first.plan, adopt: true, crashes });
      isReached = crashes.size === 0;

      const outcomes = results.map(({ outcome }) => outcome);
      expect(outcomes, `step ${step}`).toEqual(["created", "updated", "created", "updated"]);
      expect(world.double.writes, `step ${step}`).toEqual([
        ...names.map((name, i) => `${i % 2 === 0 ? "POST" : "PUT"} ${name}`),
      ]);
      expect(world.double.faults, `step ${step}`).toEqual([]);
    }
  },
  120_000,
);

const namedReasons =
  /by someone else since the plan|existed before Vedette|routes of this name|the incident service (answered|did not answer|returned another)|answer from the incident service/;

it("ends as declared however the service fails and the process crashes, when nobody else edits", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory(names.length), async (history) => {
      const world = begin(history);
      const first = await plan(world);
      if (!("plan" in first)) throw new Error(first.faults.join());
      const events = history.events.map(({ fault }) => (fault === undefined ? {} : { fault }));
      play(world, events);

      const wanted = { plan: first.plan, adopt: true, crashes: new Map(history.crashes) };
      const results = await apply(world, wanted);

      expect(results.filter((result) => !isFine(result))).toEqual([]);
      const creations = first.plan.routes.filter(({ action }) => action === "create").length;
      const updates = first.plan.routes.filter(({ action }) => action === "update").length;
      expect(world.double.writes).toHaveLength(creations + updates);
    }),
    { numRuns: 300 },
  );
}, 240_000);

it("ends in step or with a named conflict, and loses nobody's change", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory(names.length), async (history) => {
      const world = begin(history);
      const first = await plan(world);
      if (!("plan" in first)) throw new Error(first.faults.join());
      watch(world, { plan: first.plan, adopt: history.adopt });
      play(world, history.events);

      const { adopt, crashes } = history;
      const results = await apply(world, {
        plan: first.plan,
        adopt,
        crashes: new Map(crashes),
      });

      expect(world.double.faults).toEqual([]);
      expect(results.map(({ name }) => name)).toEqual(names);
      for (const result of results) {
        if (!isFine(result)) expect(result.message).toMatch(namedReasons);
      }
    }),
    { numRuns: 1_000 },
  );
}, 240_000);

it("is in step after one more plan and apply, and writes nothing from then on", async () => {
  await fc.assert(
    fc.asyncProperty(anyHistory(names.length), async (history) => {
      const world = begin(history);
      const first = await plan(world);
      if (!("plan" in first)) throw new Error(first.faults.join());
      play(world, history.events);
      const crashes = new Map(history.crashes);
      await apply(world, { plan: first.plan, adopt: history.adopt, crashes });
      calmDown(world);

      const second = await plan(world);
      if (!("plan" in second)) throw new Error(second.faults.join());
      const results = await apply(world, { plan: second.plan, adopt: true });
      const written = world.double.writes.length;
      const third = await plan(world);
      if (!("plan" in third)) throw new Error(third.faults.join());
      await apply(world, { plan: third.plan, adopt: false });

      expect(results.filter((result) => !isFine(result))).toEqual([]);
      expect(third.plan.routes.map(({ action }) => action)).toEqual(names.map(() => "none"));
      expect(world.double.writes).toHaveLength(written);
      expect(world.double.faults).toEqual([]);
    }),
    { numRuns: 200 },
  );
}, 240_000);
