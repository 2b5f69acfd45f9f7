import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { definitionsSchema } from "#definitions/schema.ts";
import { standardRows } from "../support/monitor/standard-definitions.ts";

const schema = definitionsSchema();
const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);

function isValid(data: unknown): boolean {
  return validate(data);
}

it("schema/vedette.config.schema.json is the one of the rows (else: node schema/write.ts)", () => {
  const committed = readFileSync("schema/vedette.config.schema.json", "utf8");

  expect(JSON.parse(committed)).toEqual(schema);
});

it("the schema allows the standard rows, in a list and by their names", () => {
  const byId = Object.fromEntries(standardRows.heartbeats.map(({ id, ...row }) => [id, row]));

  expect(isValid(standardRows)).toBe(true);
  expect(isValid({ extends: ["standard"], include: ["a/*.yaml"], heartbeats: byId })).toBe(true);
});

it.each([
  ["JSON", JSON.parse('{"$schema": "x", "checks": {"liveness": null, "a": {"path": "/"}}}')],
  [
    "YAML",
    parse("checks:\n  - id: a\n    url: https://a.example/\n    body: {deep: [1, {b: null}]}\n"),
  ],
])("allows a file of %s", (_format, data) => {
  expect(isValid(data)).toBe(true);
});

it.each([
  ["an unknown section", { chekcs: [] }],
  ["an unknown field", { checks: [{ id: "a", metod: "GET" }] }],
  ["a row without an id in a list", { checks: [{ path: "/" }] }],
  ["an id of another form", { checks: [{ id: "A b" }] }],
  ["a value out of range", { checks: [{ id: "a", frequencySeconds: 5 }] }],
  ["another set to extend", { extends: ["basic"] }],
])("refuses %s", (_what, data) => {
  expect(isValid(data)).toBe(false);
});

type Described = { properties?: Record<string, { description?: string }> };

it("the schema describes the fields of checks and heartbeats", () => {
  const { definitions } = schema as {
    definitions: Record<string, Described & { oneOf?: Described[] }>;
  };
  const undescribed = ["check", "heartbeat"].flatMap((name) =>
    [definitions[name] ?? {}, ...(definitions[name]?.oneOf ?? [])].flatMap(({ properties = {} }) =>
      Object.entries(properties).flatMap(([field, { description }]) =>
        description === undefined ? [`${name}.${field}`] : [],
      ),
    ),
  );

  // What they mean is in their names.
  expect(undescribed).toEqual(["check.method", "check.port", "check.port"]);
});
