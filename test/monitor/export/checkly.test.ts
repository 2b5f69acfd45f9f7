import { expect, it } from "vitest";
import { exportForCheckly } from "#monitor/commands.ts";
import { exportCheckly, findUnhosted } from "#monitor/export/checkly.ts";
import type { Assertion } from "#monitor/kinds/assertions.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { standardDefinitions } from "../../support/monitor/standard-definitions.ts";

const defined = standardDefinitions;
const settings = { baseUrl: "https://api.example.com", secretPrefix: "ACME" };

const projectOf = (assertions: Assertion[]) => {
  const check = { ...anApiCheck(), assertions };
  const files = exportCheckly({ ...defined, apiChecks: [check] }, settings);
  return files.find(({ path }) => path === `checks/${check.id}.check.ts`)?.text ?? "";
};

it("an exported check follows no redirect, so that a secret goes nowhere else and a redirect is the answer", () => {
  const texts = exportCheckly(defined, settings).filter(({ text }) =>
    text.includes("new ApiCheck"),
  );

  expect(texts).toHaveLength(defined.apiChecks.length);
  for (const { text } of texts) expect(text).toContain("followRedirects: false,");
});

it("an exported check refuses a certificate that is not trusted", () => {
  expect(projectOf([])).toContain("skipSSL: false,");
});

it.each([
  [200, false],
  [302, false],
  [401, true],
  [503, true],
])("expects an answer that says failure where the check does: %i", (equals, shouldFail) => {
  expect(projectOf([{ source: "status", equals }])).toContain(`shouldFail: ${shouldFail},`);
});

it.each([
  ["data.roles.0", "$.data.roles[0]"],
  ["$.data.roles[0]", "$.data.roles[0]"],
  ['a["b.c"]', '$.a["b.c"]'],
  ["x-y", '$["x-y"]'],
])("writes the path %s as the hosted monitor takes it", (path, written) => {
  expect(projectOf([{ source: "json", path, equals: 1 }])).toContain(
    `AssertionBuilder.jsonBody(${JSON.stringify(written)}).equals(1)`,
  );
});

it("an exported check bounds several statuses, and leaves out those between", () => {
  const text = projectOf([{ source: "status", equals: [204, 200, 202] }]);

  const written = [...text.matchAll(/statusCode\(\)(\.\w+\(\d+\))/g)].map(([, call]) => call);
  expect(written).toEqual([
    ".greaterThan(199)",
    ".lessThan(205)",
    ".notEquals(201)",
    ".notEquals(203)",
  ]);
});

it("an exported check bounds a class of statuses", () => {
  expect(projectOf([{ source: "status", equals: "4xx" }])).toMatch(
    /shouldFail: true,[\s\S]*greaterThan\(399\)[\s\S]*lessThan\(500\)/,
  );
});

it("the export says of statuses below 400 and from 400 on together that they cannot be exported", () => {
  const check = anApiCheck({ assertions: [{ source: "status", equals: ["2xx", 404] }] });

  const found = findUnhosted({ ...defined, apiChecks: [{ ...check, locations: [] }] });

  expect(found[0]).toBe(
    `${check.id}: the hosted monitor takes statuses below 400 or from 400 on, not both`,
  );
});

it("the keys of the API are not exported to a check of another host", () => {
  const spy = anApiCheck({
    ...{ id: "spy", path: "https://evil.example/" },
    headers: { authorization: "Bearer {{ROOT_KEY}}" },
  });
  const settings = {
    monitor: { base_url: "https://api.example.com", secret_prefix: "VEDETTE" },
    metrics: { host: "127.0.0.1", port: 9 },
  };
  const definitions = { apiChecks: [spy], heartbeats: [], channels: [] };

  expect(() => exportForCheckly({ settings, definitions }, undefined)).toThrow(
    "spy: {{ROOT_KEY}} goes only below monitor.base_url, where evil.example is not",
  );
});
