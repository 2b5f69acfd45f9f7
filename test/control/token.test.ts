import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Operator } from "#control/config.ts";
import { bearerOf, createIdentify, markedCallers } from "#control/token.ts";
import { sharedActor } from "#kernel/actor.ts";
import { roles } from "#kernel/roles.ts";

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const operator = (token: string) => ({ token: hashOf(token), roles: ["read"] as const });

const tokens = { ingressToken: "the-token", operators: { alice: operator("alices") } };

describe("createIdentify", () => {
  const identify = createIdentify(tokens);
  const identifyHeader = (header: string | undefined) => identify(bearerOf(header));

  it.each(["Bearer the-token", "bearer the-token", "Bearer  the-token"])(
    "knows the ingress token by %j",
    (header) => {
      expect(identifyHeader(header)).toEqual({ actor: sharedActor, roles });
    },
  );

  it("identifies an operator by the hash of the token", () => {
    expect(identify("alices")).toMatchObject({ actor: "alice", roles: ["read"] });
  });

  it.each([undefined, "", "Bearer", "Bearer ", "Basic Og=="])(
    "knows nobody by the header %j, whose operator's hash is that of nothing",
    (header) => {
      const open = createIdentify({ ...tokens, operators: { alice: operator("") } });

      expect(open(bearerOf(header))).toBeUndefined();
    },
  );

  it("knows a token again under another name and with other roles, and reveals nothing of it", () => {
    const accountsOf = (operators: Record<string, Operator>, token = "alices") =>
      createIdentify({ ...tokens, operators })(token)?.accounts;
    const before = accountsOf(tokens.operators);

    expect(accountsOf({ al: { ...operator("alices"), roles } })).toEqual(before);
    expect(accountsOf({ ben: operator("bens") }, "bens")).not.toEqual(before);
    expect(before).toEqual([expect.stringMatching(/^row:[\w-]{16}$/)]);
  });

  it("knows whom a row signs in again under another name and with another token", () => {
    const signIn = { sign_in: "Ada@example.com" };
    const accountsOf = (operators: Record<string, Operator>, token: string) =>
      createIdentify({ ...tokens, operators })(token)?.accounts ?? [];
    const before = accountsOf({ ada: { ...operator("adas"), ...signIn } }, "adas");
    const sharedWith = (row: Operator) =>
      accountsOf({ lovelace: row }, "new").filter((account) => before.includes(account)).length;

    expect(sharedWith({ ...operator("new"), sign_in: "ada@example.com" })).toBe(1);
    expect(sharedWith({ ...operator("new"), sign_in: "ben@example.com" })).toBe(0);
    expect(sharedWith(operator("new"))).toBe(0);
    expect(before.join()).not.toMatch(/ada/i);
  });

  it.each([
    undefined,
    "",
    "the-token",
    "Bearer",
    "Bearer ",
    "Bearer the-token2",
    "Bearer the-toke",
    "Basic the-token",
    "Bearer the-token the-token",
    `Bearer ${hashOf("alices")}`,
  ])("identifies no caller by %j", (header) => {
    expect(identifyHeader(header)).toBeUndefined();
  });
});

describe("markedCallers", () => {
  const markOf = (operators: Record<string, Operator>, name: string) =>
    markedCallers({ ...tokens, operators }).get(name)?.mark;
  const before = { alice: operator("alices") };

  it.each([
    ["token", { alice: operator("another") }],
    ["roles", { alice: { ...operator("alices"), roles: ["operate"] } }],
  ] as const)("changes the mark of a name with its %s, and of no other name", (_what, after) => {
    expect(markOf(after, "alice")).not.toBe(markOf(before, "alice"));
    expect(markOf(after, sharedActor)).toBe(markOf(before, sharedActor));
  });
});
