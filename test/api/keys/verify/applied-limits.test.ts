import { describe, expect, it } from "vitest";
import { chooseLimits, toLimitRequest } from "#api/keys/verify/answer.ts";
import { buildKeyRecord, buildRule } from "../../../support/api/key-builders.ts";

describe("the limits of a verification", () => {
  it("are those that apply by themselves, of the key and of its identity", () => {
    const record = buildKeyRecord({
      ratelimits: [buildRule({ name: "requests" }), buildRule({ name: "asked", autoApply: false })],
      identity: { ratelimits: [buildRule({ name: "tokens" })] },
    });

    const limits = chooseLimits(record, []);

    expect(limits.map(({ name, ownerId, cost }) => [name, ownerId, cost])).toEqual([
      ["requests", record.id, 1],
      ["tokens", record.identity?.id, 1],
    ]);
  });

  it("take the key's limit before its identity's of the same name", () => {
    const record = buildKeyRecord({
      ratelimits: [buildRule({ name: "requests", limit: 5 })],
      identity: { ratelimits: [buildRule({ name: "requests", limit: 50 })] },
    });

    expect(chooseLimits(record, []).map(({ limit }) => limit)).toEqual([5]);
    expect(chooseLimits(record, [{ name: "requests", cost: 2 }])).toMatchObject([
      { limit: 5, cost: 2, ownerId: record.id },
    ]);
  });

  it("take a limit of the request in place of the stored one", () => {
    const record = buildKeyRecord({ ratelimits: [buildRule({ name: "requests", limit: 5 })] });

    const limits = chooseLimits(record, [
      { name: "requests", cost: 1, limit: 9, duration: 60_000 },
    ]);

    expect(limits).toMatchObject([{ id: "", limit: 9, durationMs: 60_000, autoApply: false }]);
  });

  it("refuse a name that neither key nor identity has", () => {
    expect(() => chooseLimits(buildKeyRecord(), [{ name: "nothing", cost: 1 }])).toThrow(
      "The requested rate limit 'nothing' does not exist",
    );
  });

  it("refuse more than a hundred, which would crowd out everyone else's counters", () => {
    const asked = Array.from({ length: 101 }, (_, n) => ({
      name: `limit ${n}`,
      cost: 1,
      limit: 1,
      duration: 1_000,
    }));

    expect(() => chooseLimits(buildKeyRecord(), asked)).toThrow("at most 100 rate limits");
  });

  it("may be a hundred, each for a second", () => {
    const asked = Array.from({ length: 100 }, (_, n) => ({
      name: `limit ${n}`,
      cost: 1,
      limit: 1,
      duration: 1_000,
    }));

    expect(chooseLimits(buildKeyRecord(), asked)).toHaveLength(100);
  });

  it("are the stored one when the request names a limit without its duration", () => {
    const record = buildKeyRecord({ ratelimits: [buildRule({ name: "requests", limit: 5 })] });

    const limits = chooseLimits(record, [{ name: "requests", cost: 1, limit: 9 }]);

    expect(limits).toMatchObject([{ limit: 5 }]);
  });

  it("refuse a window under a second instead of letting everything pass", () => {
    const asked = [{ name: "requests", cost: 1, limit: 1, duration: 999 }];

    expect(() => chooseLimits(buildKeyRecord(), asked)).toThrow("at least 1000 milliseconds");
  });

  it("count an identity's limit for all its keys, and a key's for it alone", () => {
    const identity = { ratelimits: [buildRule({ name: "shared" })] };
    const [one, other] = ["key_1", "key_2"].map((id) =>
      buildKeyRecord({ id, identity, ratelimits: [buildRule({ name: "own" })] }),
    );

    const keys = (record = buildKeyRecord()) =>
      chooseLimits(record, []).map((limit) => toLimitRequest("ws_1", limit).key);

    expect(keys(one)[0]).not.toBe(keys(other)[0]);
    expect(keys(one)[1]).toBe(keys(other)[1]);
  });
});
