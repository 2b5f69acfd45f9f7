import { expect, it } from "vitest";
import type { Response } from "#monitor/kinds/assertions.ts";
import type { Observation } from "#monitor/kinds/observe.ts";
import type { ProbeLimits, ProbeRequest } from "#monitor/kinds/request.ts";
import { createRunCheck, timeLimitMs } from "#monitor/probe/run-check.ts";
import { anApiCheck, aResponse } from "../../support/monitor/check-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";

const secrets = { KEY: "the-key", ROOT_KEY: "the-root-key" };
const target = { baseUrl: "https://api.example.com", readSecret: secretsFrom(secrets) };

function startBench(seen: Observation<Response>) {
  const asked: { request: ProbeRequest; limits: ProbeLimits }[] = [];
  const probe = async (request: ProbeRequest, limits: ProbeLimits) => {
    asked.push({ request, limits });
    return seen;
  };
  const run = createRunCheck({ probe, target, location: "fra", nowMs: () => 61_500 });
  return { asked, run };
}

it("a run records the observation with its tick and location", async () => {
  const bench = startBench(aResponse({ durationMs: 501 }));

  const result = await bench.run(anApiCheck(), 60_000);

  expect(result).toMatchObject({
    checkId: "verify-key",
    location: "fra",
    scheduledAtMs: 60_000,
    startedAtMs: 61_500,
    grade: "degraded",
    cause: "slow",
    status: 200,
  });
});

it("a run has a timeout above the failed threshold, so that the result has the duration", async () => {
  const bench = startBench(aResponse({}));

  await bench.run(anApiCheck({ failedAboveMs: 10_000 }), 0);

  expect(bench.asked[0]?.limits.timeoutMs).toBe(12_000);
});

it("a run is over before the next run is due", () => {
  expect(timeLimitMs({ failedAboveMs: 10_000, frequencySeconds: 10 })).toBe(9_000);
  expect(timeLimitMs({ failedAboveMs: 500, frequencySeconds: 60 })).toBe(1_000);
});

it("a run keeps secrets out of the reason when the server repeats them", async () => {
  const body = JSON.stringify({ data: { valid: "the-root-key and the-key" } });
  const bench = startBench(aResponse({ body }));
  const check = anApiCheck({ assertions: [{ source: "json", path: "data.valid", equals: true }] });

  const { reason } = await bench.run(check, 0);

  expect(reason).toBe('data.valid is "*** and ***", expected true');
});

it.each([40, 66, 74])(
  "keeps the beginning of a secret that is cut after %i characters out of a reason",
  async (count) => {
    const secret = `vd_${"s".repeat(40)}`;
    const padding = "x".repeat(count);
    const seen = aResponse({ body: JSON.stringify({ say: `${padding}${secret}` }) });
    const run = createRunCheck({
      probe: async () => seen,
      target: { ...target, readSecret: secretsFrom({ KEY: "", ROOT_KEY: secret }) },
      location: "fra",
      nowMs: () => 0,
    });
    const assertions = [{ source: "json" as const, path: "say", equals: "hello" }];

    const { reason } = await run(anApiCheck({ assertions }), 0);

    expect(reason).toBe(`say is "${padding}***…, expected "hello"`);
  },
);

it("a run keeps a secret out of a reason that quotes it escaped in JSON", async () => {
  const secret = 'a "quoted" secret';
  const seen = aResponse({ body: JSON.stringify({ say: secret }) });
  const run = createRunCheck({
    probe: async () => seen,
    target: { ...target, readSecret: secretsFrom({ KEY: "", ROOT_KEY: secret }) },
    location: "fra",
    nowMs: () => 0,
  });
  const assertions = [{ source: "json" as const, path: "say", equals: "hello" }];

  const { reason } = await run(anApiCheck({ assertions }), 0);

  expect(reason).toBe('say is "***", expected "hello"');
});

it("a run keeps a secret out of a reason as it was sent, although it is replaced meanwhile", async () => {
  const values = ["first", "second"];
  const seen = aResponse({ body: JSON.stringify({ say: "first" }) });
  const run = createRunCheck({
    probe: async () => seen,
    target: {
      ...target,
      readSecret: (name) =>
        name === "TOKEN"
          ? secretsFrom({ TOKEN: values.shift() }, "api.example.com")(name)
          : undefined,
    },
    location: "fra",
    nowMs: () => 0,
  });
  const assertions = [{ source: "json" as const, path: "say", equals: "hello" }];

  const { reason } = await run(anApiCheck({ headers: { token: "{{TOKEN}}" }, assertions }), 0);

  expect(reason).toBe('say is "***", expected "hello"');
});
