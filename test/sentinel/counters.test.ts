import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { parseMetrics } from "#fleet/counters/counters.ts";
import { createCounters } from "#sentinel/counters.ts";

function answerWith(statusCode: number, headersSent = true) {
  return Object.assign(new EventEmitter(), {
    statusCode,
    headersSent,
  }) as unknown as ServerResponse;
}

/** Counts answers that take so long, in the order of their start. */
function countAll(answers: readonly { status: number; ms: number; headersSent?: boolean }[]) {
  let now = 0;
  const counters = createCounters(() => now, Date.parse("2026-11-28T12:00:00Z"));
  for (const { status, ms, headersSent } of answers) {
    const outgoing = answerWith(status, headersSent);
    counters.watch(outgoing);
    now += ms;
    outgoing.emit("close");
  }
  return counters.write();
}

it("the metrics of a sentinel count requests, answers from 500 on, and durations by bound", () => {
  const text = countAll([
    { status: 200, ms: 1 },
    { status: 499, ms: 100 },
    { status: 503, ms: 0.2 },
    { status: 500, ms: 90_000 },
  ]);

  const counters = parseMetrics(text);

  expect(counters).toMatchObject({ requests: 4, errors: 2 });
  expect(counters?.startedAt).toBe(Date.parse("2026-11-28T12:00:00Z"));
  expect(counters?.latency?.[0.001]).toBe(2);
  expect(counters?.latency?.[0.0987]).toBe(2);
  expect(counters?.latency?.[0.1076]).toBe(3);
  expect(text).toContain('sentinel_request_duration_seconds_bucket{le="+Inf"} 4');
});

it("the metrics of a sentinel have 8 bounds a doubling, and no more than 200", () => {
  const bounds = Object.keys(parseMetrics(countAll([]))?.latency ?? {}).map(Number);

  expect(bounds.filter((bound) => bound > 0.1 && bound <= 0.2)).toHaveLength(8);
  expect(bounds.length).toBeLessThan(200);
});

it("a request whose caller went away before its answer is not counted", () => {
  const text = countAll([{ status: 200, ms: 5, headersSent: false }]);

  expect(parseMetrics(text)?.requests).toBe(0);
});
