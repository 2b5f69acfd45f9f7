import { expect, it } from "vitest";
import { exportCheckly } from "#monitor/export/checkly.ts";
import type { Assertion } from "#monitor/kinds/contract.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { standardDefinitions } from "../../support/monitor/standard-definitions.ts";

const defined = standardDefinitions;
const settings = { baseUrl: "https://api.example.com", secretPrefix: "ACME" };

const projectOf = (assertions: Assertion[]) => {
  const check = { ...anApiCheck(), assertions };
  const files = exportCheckly({ ...defined, apiChecks: [check] }, settings);
  return files.find(({ path }) => path === `checks/${check.id}.check.ts`)?.text ?? "";
};

it("follows no redirect, so that a secret goes nowhere else and a redirect is the answer", () => {
  const texts = exportCheckly(defined, settings).filter(({ text }) =>
    text.includes("new ApiCheck"),
  );

  expect(texts).toHaveLength(defined.apiChecks.length);
  for (const { text } of texts) expect(text).toContain("followRedirects: false,");
});

it("does not let a certificate pass that is not trusted", () => {
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
