import { expect, it } from "vitest";
import type { Assertion } from "#monitor/kinds/assertions.ts";
import { noPhases } from "#monitor/kinds/observe.ts";
import { grade, gradeByTime, regrade } from "#monitor/rules/grade.ts";
import { aCheckResult, anApiCheck, aResponse } from "../../support/monitor/check-builders.ts";

const check = anApiCheck({ degradedAboveMs: 500, failedAboveMs: 10_000 });

it.each([
  [499, "ok"],
  [500, "ok"],
  [500.1, "degraded"],
  [10_000, "degraded"],
  [10_000.1, "failed"],
])("a response after %d ms is %s", (durationMs, expected) => {
  expect(gradeByTime(check, durationMs).grade).toBe(expected);
});

it("a slow response says how slow and what was allowed", () => {
  expect(gradeByTime(check, 12_340).reason).toBe("took 12.3 s, failed above 10 s");
});

it("an error fails the run with its reason, however quick it came", () => {
  const outcome = { kind: "error", reason: "connection refused" } as const;

  const graded = grade(check, { durationMs: 1, phases: noPhases, tlsDaysLeft: null, outcome });

  expect(graded).toEqual({ grade: "failed", cause: "error", reason: "connection refused" });
});

const wrongAnswers: [Assertion, Parameters<typeof aResponse>[0], string][] = [
  [{ source: "status", equals: 200 }, { status: 503 }, "answered 503, expected 200"],
  [
    { source: "status", equals: ["2xx", 304] },
    { status: 301 },
    "answered 301, expected 2xx or 304",
  ],
  [
    { source: "json", path: 'a["b.c"]', equals: 1 },
    { body: '{"a":{"b":{"c":1}}}' },
    'a["b.c"] is absent, expected 1',
  ],
  [
    { source: "header", name: "Content-Type", contains: "json" },
    { headers: { "content-type": "text/html" } },
    'header Content-Type is "text/html", expected to contain "json"',
  ],
  [
    { source: "header", name: "x-there", contains: "a" },
    {},
    'header x-there is absent, expected to contain "a"',
  ],
  [
    { source: "json", path: "data.valid", equals: true },
    { body: '{"data":{"valid":false}}' },
    "data.valid is false, expected true",
  ],
  [
    { source: "json", path: "data.valid", equals: true },
    { body: "<html>" },
    "data.valid is absent, expected true",
  ],
  [
    { source: "json", path: "constructor.name", equals: "Object" },
    { body: "{}" },
    'constructor.name is absent, expected "Object"',
  ],
];

it.each(wrongAnswers)("an answer against %j fails the run", (assertion, answer, reason) => {
  const graded = grade({ ...check, assertions: [assertion] }, aResponse(answer));

  expect(graded).toEqual({ grade: "failed", cause: "assertion", reason });
});

it.each<[Assertion, Parameters<typeof aResponse>[0]]>([
  [{ source: "status", equals: [200, 204] }, { status: 204 }],
  [{ source: "status", equals: "2XX" }, { status: 299 }],
  [{ source: "json", path: "$.status", equals: "ok" }, { body: '{"status":"ok"}' }],
  [{ source: "json", path: "list[0].ok", equals: true }, { body: '{"list":[{"ok":true}]}' }],
  [{ source: "json", path: 'a["b.c"]', equals: 1 }, { body: '{"a":{"b.c":1}}' }],
])("an answer as %j wants it is good", (assertion, answer) => {
  expect(grade({ ...check, assertions: [assertion] }, aResponse(answer)).grade).toBe("ok");
});

it("an answer with the expected content is graded by its time", () => {
  const assertions: Assertion[] = [
    { source: "status", equals: 200 },
    { source: "header", name: "content-type", contains: "json" },
    { source: "json", path: "data.roles.1", equals: "b" },
  ];
  const headers = { "content-type": "application/json" };
  const body = '{"data":{"roles":["a","b"]}}';

  expect(grade({ ...check, assertions }, aResponse({ headers, body })).grade).toBe("ok");
});

it("the reason of a failed run quotes no more than a line of what a server says", () => {
  const assertion: Assertion = { source: "json", path: "text", equals: "" };
  const body = JSON.stringify({ text: "x".repeat(10_000) });

  const { reason } = grade({ ...check, assertions: [assertion] }, aResponse({ body }));

  expect(reason?.length).toBeLessThan(120);
});

it("a recorded result is graded anew by other thresholds", () => {
  const recorded = aCheckResult({ grade: "ok", durationMs: 3_000 });

  expect(regrade({ degradedAboveMs: 500, failedAboveMs: 2_000 }, recorded).grade).toBe("failed");
});

it("a recorded result that failed for its content stays failed", () => {
  const recorded = aCheckResult({ grade: "failed", cause: "assertion", durationMs: 3 });

  expect(regrade({ degradedAboveMs: 500, failedAboveMs: 2_000 }, recorded)).toBe(recorded);
});

it("a slow handshake fails also while the certificate is only degraded", () => {
  const { method, path, headers, body, assertions, ...common } = check;
  const tls = {
    ...common,
    ...{ kind: "tls" as const, host: "a.example", port: 443, servername: "a.example" },
    ...{ degradedBelowDays: 30, failedBelowDays: 7 },
  };
  const seen = { phases: noPhases, tlsDaysLeft: 20, outcome: { kind: "certificate" } } as const;

  expect(grade(tls, { ...seen, durationMs: 1 }).grade).toBe("degraded");
  expect(grade(tls, { ...seen, durationMs: 10_001 })).toMatchObject({
    grade: "failed",
    cause: "slow",
  });
});
