/** Checks of other kinds than HTTP at runners of several versions. */
import { expect, it } from "vitest";
import { Work, WorkRequest } from "#monitor/locations/contract.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";

const { method, path, headers, body, assertions, ...common } = anApiCheck();
const work = (checks: unknown[]) => ({
  ...{ location: "fra", now_ms: 1, base_url: "https://a.example", services: [], checks },
});
const step = { name: null, method, path, headers, body, assertions, extract: {} };

it.each([
  { kind: "tcp", host: "a", port: 1, send: null, expect: null },
  { kind: "dns", domain: "a", type: "A", servers: [], expect: [] },
  { kind: "tls", host: "a", port: 1, servername: "a", degradedBelowDays: 9, failedBelowDays: 1 },
  { kind: "steps", steps: [step] },
])("work may have a check of $kind", (fields) => {
  expect(Work.parse(work([{ ...common, ...fields }])).checks).toMatchObject([fields]);
});

it.each(["headers", "assertions", "extract"])("a step with endless %s is refused", (part) => {
  const steps = [{ ...step, [part]: Array(90_000).fill(0) }];

  const { error } = Work.safeParse(work([{ ...common, kind: "steps", steps }]));

  expect(error?.issues).toMatchObject([{ path: ["checks", 0], message: "too long" }]);
});

it("a request with endless kinds is refused", () => {
  expect(WorkRequest.safeParse({ kinds: Array(51).fill("tcp") }).success).toBe(false);
});
