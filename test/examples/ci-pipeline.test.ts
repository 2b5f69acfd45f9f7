/** examples/ci-pipeline's workflow, held against action.yml; rollout.sh is run by test/integration/action. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";

type Named = Record<string, { required?: boolean }>;
type Step = { id?: string; uses?: string; run?: string; with?: Record<string, string> };

const action = parse(readFileSync("action.yml", "utf8")) as { inputs: Named; outputs: Named };
const text = readFileSync("examples/ci-pipeline/rollout.yml", "utf8");
const workflow = parse(text) as {
  on: object;
  permissions: Record<string, string>;
  jobs: Record<string, { "runs-on": string; steps: Step[] }>;
};
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
const rollout = steps.find(({ uses }) => uses?.startsWith("your-org/vedette@"));
const given = Object.keys(rollout?.with ?? {});

it("the workflow runs at pushes, and each of its steps runs or uses something", () => {
  expect(workflow.on).toHaveProperty("push");
  expect(steps.filter(({ uses, run }) => (uses === undefined) === (run === undefined))).toEqual([]);
});

it("the workflow gives the Action only inputs that it has", () => {
  expect(given.length).toBeGreaterThan(3);
  expect(given.filter((name) => !(name in action.inputs))).toEqual([]);
});

it("the workflow gives the Action every input that it requires", () => {
  const required = Object.entries(action.inputs).filter(([, { required }]) => required);

  expect(required.map(([name]) => name).filter((name) => !given.includes(name))).toEqual([]);
});

it("the workflow reads only outputs that the Action has", () => {
  const used = [...text.matchAll(/steps\.rollout\.outputs\.([\w-]+)/g)].map(
    ([, name = ""]) => name,
  );

  expect(rollout?.id).toBe("rollout");
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((name) => !(name in action.outputs))).toEqual([]);
});

it("the workflow names steps before it uses them", () => {
  const known = steps.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const used = [...text.matchAll(/steps\.([\w-]+)\.outputs/g)].map(([, id]) => id);

  expect(used.filter((id) => !known.includes(id ?? ""))).toEqual([]);
});

it("the workflow gives the Action the job's own token, and no secret", () => {
  expect(workflow.permissions["id-token"]).toBe("write");
  expect(JSON.stringify(rollout)).not.toContain("secrets.");
});
