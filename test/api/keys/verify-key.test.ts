import { describe, expect, it } from "vitest";
import { Grants } from "#api/access/grants.ts";
import type { VerificationRow } from "#api/analytics/recording/recorder.ts";
import type { KeyRecord } from "#api/cache/key-record.ts";
import { VerifyInput } from "#api/keys/verify/schemas.ts";
import { createVerify } from "#api/keys/verify-key.ts";
import type { Call } from "#api/procedure.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { buildKeyRecord, buildRule } from "../../support/api/key-builders.ts";

const nowMs = 1_800_000_000_000;

const caller: Call = {
  requestId: "req_1",
  workspaceId: "ws_1",
  grants: new Grants(["*"]),
  actor: { id: "key_root", name: "root" },
  remoteIp: "10.0.0.1",
  userAgent: "",
  headers: {},
  nowMs,
};

/** Verifies a key of which `credits` are left (null: no limit). */
function setUp(record: KeyRecord | undefined, credits: number | null = null) {
  const rows: VerificationRow[] = [];
  const spent: number[] = [];
  let left = credits;
  const verify = createVerify({
    findKey: () => record,
    limiter: createLocalLimiter({ maxCells: 10_000 }),
    region: "here",
    recorder: { verification: (row) => void rows.push(row) },
    readCredits: async () => left,
    spendCredits: async (_, cost) => {
      if (left === null) return { isPaid: true, remaining: null };
      if (left < cost) return { isPaid: false, remaining: left };
      left -= cost;
      spent.push(cost);
      return { isPaid: true, remaining: left };
    },
  });
  return {
    rows,
    spent,
    verify: async (input: object = {}, call: Partial<Call> = {}) => {
      const parsed = VerifyInput.parse({ key: "k", ...input });
      return (await verify(parsed, { ...caller, ...call })).data;
    },
  };
}

const exhausted = { ratelimits: [buildRule({ limit: 1 })] };

describe("a verification", () => {
  it("accepts a good key and tells what it may do", async () => {
    const { verify } = setUp(
      buildKeyRecord({ name: "ours", permissions: ["read"], roles: ["admin"], meta: { a: 1 } }),
    );

    expect(await verify()).toEqual({
      valid: true,
      code: "VALID",
      keyId: "key_1",
      name: "ours",
      enabled: true,
      permissions: ["read"],
      roles: ["admin"],
      meta: { a: 1 },
    });
  });

  it.each<[string, string, KeyRecord | undefined, Partial<Call>]>([
    ["of a key that is not known", "NOT_FOUND", undefined, {}],
    ["of another workspace's key", "NOT_FOUND", buildKeyRecord({ workspaceId: "ws_2" }), {}],
    ["of a key of a deleted API", "NOT_FOUND", buildKeyRecord({ isApiDeleted: true }), {}],
    [
      "by a root key of another API",
      "NOT_FOUND",
      buildKeyRecord(),
      { grants: new Grants(["api.api_2.verify_key"]) },
    ],
  ])("%s tells nothing but %s", async (_, code, record, call) => {
    const { verify, rows } = setUp(record);

    expect(await verify({}, call)).toEqual({ valid: false, code });
    expect(rows).toEqual([]);
  });

  it("is allowed to a root key of the key's API alone", async () => {
    const { verify } = setUp(buildKeyRecord());

    const answer = await verify({}, { grants: new Grants(["api.api_1.verify_key"]) });

    expect(answer.code).toBe("VALID");
  });

  it.each<[string, KeyRecord, object]>([
    ["NOT_FOUND", buildKeyRecord({ isDeleted: true }), {}],
    ["FORBIDDEN", buildKeyRecord({ isWorkspaceEnabled: false }), {}],
    ["DISABLED", buildKeyRecord({ isEnabled: false }), {}],
    ["EXPIRED", buildKeyRecord({ expiresMs: nowMs }), {}],
    ["FORBIDDEN", buildKeyRecord({ ipAllowlist: ["10.0.0.2"] }), {}],
    ["INSUFFICIENT_PERMISSIONS", buildKeyRecord(), { permissions: "documents.read" }],
  ])("that ends in %s counts no limit and spends no credit", async (code, record, input) => {
    const limited = { ...record, ...exhausted, hasCredits: true };
    const { verify, spent, rows } = setUp(limited, 5);

    const answer = await verify(input);
    const again = await verify(input);

    expect([answer.code, again.code]).toEqual([code, code]);
    expect(answer).toMatchObject({ valid: false, keyId: "key_1", credits: 5 });
    expect(answer.ratelimits).toBeUndefined();
    expect(spent).toEqual([]);
    expect(rows.map(({ outcome }) => outcome)).toEqual([code, code]);
  });

  it("checks in the order of the contract", async () => {
    const all = buildKeyRecord({
      isDeleted: true,
      isEnabled: false,
      expiresMs: 1,
      ipAllowlist: ["10.0.0.2"],
    });
    const steps = [
      {},
      { isDeleted: false },
      { isEnabled: true },
      { expiresMs: null },
      { ipAllowlist: null },
      { permissions: ["x"] },
    ];

    const codes = [];
    let record = all;
    for (const step of steps) {
      record = { ...record, ...step };
      codes.push((await setUp(record).verify({ permissions: "x" })).code);
    }

    expect(codes).toEqual([
      "NOT_FOUND",
      "DISABLED",
      "EXPIRED",
      "FORBIDDEN",
      "INSUFFICIENT_PERMISSIONS",
      "VALID",
    ]);
  });

  it("over a rate limit spends no credit", async () => {
    const { verify, spent } = setUp({ ...buildKeyRecord(exhausted), hasCredits: true }, 5);
    await verify();

    const answer = await verify();

    expect(answer).toMatchObject({ code: "RATE_LIMITED", credits: 4 });
    expect(answer.ratelimits).toMatchObject([{ exceeded: true, remaining: 0, limit: 1 }]);
    expect(spent).toEqual([1]);
  });

  it("without credits has counted the rate limit all the same", async () => {
    const record = buildKeyRecord({ hasCredits: true, ratelimits: [buildRule({ limit: 2 })] });
    const { verify } = setUp(record, 0);
    await verify();
    await verify();

    expect((await verify()).code).toBe("RATE_LIMITED");
  });

  it("counts none of several limits when one of them is exceeded", async () => {
    const record = buildKeyRecord({
      ratelimits: [buildRule({ name: "tight", limit: 1 }), buildRule({ name: "wide", limit: 10 })],
    });
    const { verify } = setUp(record);
    await verify();
    await verify();

    const wide = await verify({ ratelimits: [{ name: "tight", cost: 0 }] });

    expect(wide.ratelimits?.find(({ name }) => name === "wide")?.remaining).toBe(8);
  });

  it.each([
    [{ credits: { cost: 3 } }, "VALID", 2],
    [{ credits: { cost: 5 } }, "VALID", 0],
    [{ credits: { cost: 6 } }, "USAGE_EXCEEDED", 5],
    [{ credits: { cost: 0 } }, "VALID", 5],
    [{}, "VALID", 4],
  ])("%j of 5 credits is %s and leaves %i", async (input, code, credits) => {
    const { verify } = setUp(buildKeyRecord({ hasCredits: true }), 5);

    expect(await verify(input)).toMatchObject({ code, credits });
  });

  it("that costs nothing passes when no credit is left", async () => {
    const { verify } = setUp(buildKeyRecord({ hasCredits: true }), 0);

    expect(await verify({ credits: { cost: 0 } })).toMatchObject({ code: "VALID", credits: 0 });
  });

  it.each([
    ["a key that is off", { isEnabled: false }, "DISABLED"],
    ["a key that is over", { expiresMs: 1 }, "EXPIRED"],
  ])("does not ask for the limits of %s", async (_, over, code) => {
    const { verify } = setUp(buildKeyRecord(over));
    const unknown = [{ name: "nobody's", cost: 1 }];
    const tooShort = [{ name: "short", cost: 1, limit: 1, duration: 1 }];

    expect((await verify({ ratelimits: unknown })).code).toBe(code);
    expect((await verify({ ratelimits: tooShort })).code).toBe(code);
  });

  it("refuses a question it cannot read only for a key that may be seen", async () => {
    const bad = { permissions: "a AND" };

    await expect(setUp(buildKeyRecord()).verify(bad)).rejects.toThrow("not valid");
    expect((await setUp(undefined).verify(bad)).code).toBe("NOT_FOUND");
  });

  it("believes the gateway about the address of its caller", async () => {
    const { verify } = setUp(buildKeyRecord({ ipAllowlist: ["203.0.113.0/24"] }));

    const answer = await verify(
      {},
      { headers: { "x-forwarded-for": "203.0.113.7:4711, 10.0.0.1" } },
    );

    expect(answer.code).toBe("VALID");
  });

  it("is recorded with what it cost, its tags and its outcome", async () => {
    const record = buildKeyRecord({ hasCredits: true, identity: {} });
    const { verify, rows } = setUp(record, 5);

    await verify({ tags: ["path=/v1"], credits: { cost: 2 } });

    expect(rows).toMatchObject([
      {
        request_id: "req_1",
        time: nowMs,
        outcome: "VALID",
        spent_credits: 2,
        tags: ["path=/v1"],
        external_id: "user_1",
        region: "here",
        source: "api",
      },
    ]);
  });
});
