import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bearerOf, createIdentify, ingressActor, tokenMarks } from "#control/token.ts";

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

const tokens = { ingressToken: "the-token", operators: { alice: hashOf("alices") } };

describe("createIdentify", () => {
  const identify = createIdentify(tokens);
  const identifyHeader = (header: string | undefined) => identify(bearerOf(header));

  it.each(["Bearer the-token", "bearer the-token", "Bearer  the-token"])(
    "knows the ingress token by %j",
    (header) => {
      expect(identifyHeader(header)).toBe(ingressActor);
    },
  );

  it("identifies an operator by the hash of the token", () => {
    expect(identify("alices")).toBe("alice");
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

describe("tokenMarks", () => {
  it("changes the mark of a name with its token, and of no other name", () => {
    const before = tokenMarks(tokens);
    const after = tokenMarks({ ...tokens, operators: { alice: hashOf("another") } });

    expect(after.get("alice")).not.toBe(before.get("alice"));
    expect(after.get(ingressActor)).toBe(before.get(ingressActor));
  });
});
