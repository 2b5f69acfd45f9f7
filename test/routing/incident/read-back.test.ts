/** What the service reads back in other words than it was written is no difference. */
import { expect, it } from "vitest";
import { applyAll } from "#routing/incident/apply.ts";
import type { Content, Json, Plan } from "#routing/incident/contract.ts";
import { hasChanges, planRows } from "#routing/incident/plan.ts";
import { createReader, createService } from "#routing/incident/service.ts";
import { retryLimits, type Steps } from "#routing/incident/steps.ts";
import { readSurvey } from "#routing/incident/survey.ts";
import { routes, sources } from "../../support/monitor/standard-definitions.ts";
import {
  createIncidentDouble,
  type IncidentDouble,
} from "../../support/routing/incident-double.ts";

const steps: Steps = { run: (_name, action) => action(), sleep: async () => {} };
const tools = { steps, retryLimits: retryLimits.terminal };
const head = { incident_url: "http://double", made_at: "2026-11-21T00:00:00.000Z" };

const presets = {
  one_of: "one_of",
  none_of: "not_one_of",
  is_set: "is_set",
  is_not_set: "is_not_set",
};

function aDouble(type = "String"): IncidentDouble {
  const double = createIncidentDouble({
    sources: sources.map(({ name, title }) => ({ id: `01SOURCE-${name}`, name: title })),
  });
  double.attributes = double.attributes.map((attribute) => ({ ...attribute, type }));
  return double;
}

async function plan(double: IncidentDouble, operations = presets): Promise<Plan> {
  const survey = await readSurvey(createReader(double.send), tools);
  if (survey.kind === "failed") throw new Error(survey.reason);
  const channels = { "#alerts": "C0123" };
  const given = { sources: {}, attributes: {}, escalation_paths: {}, channels, operations };
  const rows = { routes, sources };
  const planned = planRows({ rows, given, survey: survey.value, owned: {} }, head);
  if ("faults" in planned) throw new Error(planned.faults.join("; "));
  return planned.plan;
}

async function apply(double: IncidentDouble, operations = presets): Promise<string[]> {
  const request = { plan: await plan(double, operations), adopt: true, prune: false };
  const applied = await applyAll(
    { request, owned: {}, startedAtMs: 0, creations: {} },
    {
      ...tools,
      service: createService(double.send),
      listLagMs: 0,
      intend: async () => {},
      saveBackup: async () => null,
      record: async () => {},
    },
  );
  return [...new Set(applied.routes.map(({ outcome }) => outcome))];
}

/** Outcomes of a first apply, whether a plan then has changes, and how many writes a second apply makes. */
async function comeInStep(double: IncidentDouble, operations = presets) {
  const outcomes = await apply(double, operations);
  const changes = hasChanges(await plan(double, operations));
  const before = double.writes.length;
  await apply(double, operations);
  return { outcomes, changes, writes: double.writes.length - before };
}

const inStep = { outcomes: ["created"], changes: false, writes: 0 };

it.each(["String", "Link", "TemplatedText", 'CatalogEntry["Severity"]', "Bool", "Number"])(
  "the standard routes come in step on attributes of the type %s",
  async (type) => {
    const double = aDouble(type);

    expect(await comeInStep(double)).toEqual(inStep);
    expect(double.faults).toEqual([]);
  },
);

it("the standard routes come in step where the newer name is configured", async () => {
  const operations = { ...presets, one_of: "contains_one_of" };

  expect(await comeInStep(aDouble(), operations)).toEqual(inStep);
});

it("the standard routes come in step where the service reads the newer name back as the older", async () => {
  const double = aDouble();
  double.readBack = { String: { contains_one_of: "one_of" } };

  expect(await comeInStep(double, { ...presets, one_of: "contains_one_of" })).toEqual(inStep);
});

it("a catalog's `contains` comes in step with the name that it is read back as", async () => {
  const operations = { ...presets, one_of: "contains" };

  expect(await comeInStep(aDouble('CatalogEntry["Team"]'), operations)).toEqual(inStep);
});

it.each([
  ["String", "is_set"],
  ["String", "contains"],
  ['CatalogEntry["Severity"]', "contains_one_of"],
  ["Bool", "contains_one_of"],
  ["Custom", "contains_one_of"],
])("an operation on %s that is read back as %s is a difference", async (type, other) => {
  const double = aDouble(type);
  double.readBack = { [type.split("[")[0] ?? ""]: { one_of: other } };

  expect((await comeInStep(double)).changes).toBe(true);
});

const binding = { array_value: [{ label: "critical", literal: "critical" }] };

it.each<[string, (condition: Content) => Content]>([
  ["empty parameters", (shown) => ({ ...shown, param_bindings: [...bindingsOf(shown), {}] })],
  [
    "empty members of parameters",
    (shown) => ({
      ...shown,
      param_bindings: bindingsOf(shown).map((one) => ({
        ...(one as Content),
        array_value: ((one as typeof binding).array_value ?? []).map((value) => ({
          ...value,
          reference: "",
        })),
      })),
    }),
  ],
  ["unknown members", (shown) => ({ ...shown, negated_in_2027: { is: "new" } })],
])("conditions that are read back with %s are in step", async (_what, pad) => {
  const double = aDouble();
  double.padCondition = pad;

  expect(await comeInStep(double)).toEqual(inStep);
});

function bindingsOf({ param_bindings: bindings }: Content): Json[] {
  return Array.isArray(bindings) ? bindings : [];
}

it("an update leaves the service's name of the operation, and what it has added", async () => {
  const double = aDouble();
  await apply(double);
  const warnings = [...double.routes.values()].find(
    ({ content }) => content["name"] === "Production Warnings",
  );
  double.edit(warnings?.id ?? "", (content) => ({ ...content, enabled: false, of_2027: ["new"] }));

  await apply(double);

  expect(warnings?.content).toMatchObject({ enabled: true, of_2027: ["new"] });
  expect(JSON.stringify(warnings?.content)).toContain('"operation":"contains_one_of"');
});
