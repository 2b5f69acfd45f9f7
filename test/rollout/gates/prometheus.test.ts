import { describe, expect, it } from "vitest";
import {
  compare,
  Gate,
  type GateOf,
  type NamedGate,
  type Reading,
} from "#rollout/gates/contract.ts";
import { gradeAnswer, prometheusGate } from "#rollout/gates/prometheus.ts";
import { readAnswer } from "#rollout/gates/query-prometheus.ts";
import { closeGates, withGateReadings } from "#rollout/gates/registry.ts";

type PrometheusGate = NamedGate & GateOf<"prometheus">;

const parse = (over: object) =>
  ({
    name: "errors",
    ...Gate.parse({ kind: "prometheus", query: "up", ...over }),
  }) as PrometheusGate;

const samples = (...values: number[]) => ({
  samples: values.map((value, i) => ({ value, labels: ` {i="${i}"}` })),
});

describe("a condition", () => {
  it.each([
    [0.009, "< 0.01", true],
    [0.01, "<0.01", false],
    [0.01, "<= 1e-2", true],
    [-2, ">= -2", true],
    [3, "!= 3", false],
    [3, "== 3.0", true],
    [Number.POSITIVE_INFINITY, "> 5", true],
    [Number.NaN, "!= 3", false],
  ])("%s %s is %s", (value, condition, expected) => {
    expect(compare(value, condition)).toBe(expected);
  });

  it.each(["0.01", "< x", "< 1 or vector(1)", "=< 1", "<"])("refuses %s", (pass) => {
    expect(() => parse({ pass })).toThrow("must be a comparison");
  });
});

describe("the answer to a query", () => {
  const both = { pass: "< 0.01", fail: "> 0.05" };

  it.each([
    ["passes if every series does", both, samples(0.001, 0.002), "pass"],
    ["fails if one series does", both, samples(0.001, 0.06, 0.02), "fail"],
    ["is inconclusive if one series is neither", both, samples(0.001, 0.02), "inconclusive"],
    ["fails if it does not pass, without fail", { pass: "< 0.01" }, samples(0.01), "fail"],
    ["passes if it does not fail, without pass", { fail: "> 0.05" }, samples(0.05), "pass"],
    ["is inconclusive without data", both, samples(), "inconclusive"],
    ["is inconclusive if it is NaN", { fail: "> 1" }, samples(Number.NaN), "inconclusive"],
    ["passes without data if asked for", { ...both, no_data: "pass" }, samples(), "pass"],
    ["fails without data if asked for", { ...both, no_data: "fail" }, samples(), "fail"],
    ["is inconclusive if it is an error", both, { error: "gone" }, "inconclusive"],
    [
      "never passes if it is an error",
      { ...both, no_data: "pass" },
      { error: "gone" },
      "inconclusive",
    ],
  ])("%s", (_, gate, answer, verdict) => {
    expect(gradeAnswer(parse(gate), answer).verdict).toBe(verdict);
  });

  it("names the series that decides", () => {
    expect(gradeAnswer(parse(both), samples(0.001, 0.06)).value).toBe('0.06 {i="1"}');
  });
});

describe("the body of an answer", () => {
  const success = (data: object) => ({ status: "success", data });

  it("may be a number, infinity or a vector", () => {
    const scalar = success({ resultType: "scalar", result: [1, "+Inf"] });
    const metric = { __name__: "up", job: 'a"b' };
    const vector = success({ resultType: "vector", result: [{ metric, value: [1, "0.5"] }] });

    expect(readAnswer(scalar, 200)).toEqual({
      samples: [{ labels: "", value: Number.POSITIVE_INFINITY }],
    });
    expect(readAnswer(vector, 200)).toEqual({
      samples: [{ labels: ' {job="a\\"b"}', value: 0.5 }],
    });
  });

  it.each([
    ["a range", success({ resultType: "matrix", result: [] }), 200, "has to give a number"],
    ["a refusal", { status: "error", error: "parse error" }, 400, "refuses the query: parse error"],
    ["no JSON", undefined, 502, "status 502"],
    ["something else", { ok: true }, 200, "no answer of Prometheus"],
  ])("is an error if it is %s", (_, body, status, words) => {
    expect(readAnswer(body, status)).toEqual({ error: expect.stringContaining(words) });
  });

  it.each(["", " ", "\t"])("takes the value %j for none", (value) => {
    const body = { status: "success", data: { resultType: "scalar", result: [1, value] } };

    expect(readAnswer(body, 200)).toEqual({ samples: [{ labels: "", value: Number.NaN }] });
  });
});

describe("the readings of a gate", () => {
  const gate = parse({ pass: "< 1", count: 2, fail_limit: 2, interval_seconds: 5 });
  const stateAfter = (...verdicts: Reading["verdict"][]) => {
    const status = verdicts.reduce(
      (before, verdict, i) => {
        const reading = { at: "2026-01-01T00:00:00.000Z", value: `${i}`, verdict };
        const readings = [{ name: "errors", found: { reading } }];
        return withGateReadings(before, [gate], { readings, atMs: i });
      },
      closeGates([gate], 1, 0),
    );
    return status.gates[0];
  };

  it.each([
    [[], "pending"],
    [["pass"], "pending"],
    [["pass", "inconclusive"], "inconclusive"],
    [["pass", "inconclusive", "pass"], "pass"],
    [["fail", "pass"], "pending"],
    [["fail", "pass", "fail"], "fail"],
    [["fail", "pass", "fail", "pass"], "fail"],
    [["pass", "pass", "inconclusive"], "inconclusive"],
    [["pass", "pass", "inconclusive", "pass"], "pass"],
    [["pass", "pass", "fail"], "pending"],
    [["pass", "pass", "fail", "pass"], "pass"],
  ] as const)("%j are %s", (verdicts, expected) => {
    expect(stateAfter(...verdicts)?.verdict).toBe(expected);
  });

  it("that passed have all the time of the gate again once one does not", () => {
    const of = (...verdicts: Reading["verdict"][]) =>
      Date.parse(stateAfter(...verdicts)?.until ?? "");

    expect(of("pass", "pass")).toBe(600_000);
    expect(of("pass", "pass", "inconclusive", "inconclusive")).toBe(600_002);
    expect(of("pass", "inconclusive")).toBe(600_000);
  });

  it("are kept up to ten, with the count of all", () => {
    const state = stateAfter(...Array.from({ length: 12 }, () => "inconclusive" as const));

    expect(state?.readings.map(({ value }) => value)).toEqual(
      Array.from({ length: 10 }, (_, i) => `${i + 2}`),
    );
    expect(state?.count.all).toBe(12);
  });
});

describe("a gate that measures", () => {
  it.each([
    [{}, "must have pass, fail or both"],
    [{ pass: "< 1", interval_seconds: 5, timeout_seconds: 86_400 }, "1000th of timeout_seconds"],
    [{ pass: "< 1", count: 10, interval_seconds: 60 }, "longer than count times interval"],
  ])("%j is refused: %s", (over, words) => {
    expect(() => parse(over)).toThrow(words);
  });

  it("is refused without a Prometheus in the settings", () => {
    const targets = {
      known: [],
      whyOff: () => [],
      webhooks: [],
      rows: [],
      hasPrometheus: false,
      hasCounters: false,
    };

    expect(prometheusGate.refuse(parse({ pass: "< 1" }), targets)).toMatchObject({
      code: "gate_off",
      status: 409,
    });
  });
});
