import { describe, expect, it } from "vitest";
import { type OwnRow, planOwnKey } from "#api/operator/installation-keys.ts";

const row = (fields: Partial<OwnRow>): OwnRow => ({
  id: "key_other",
  isThisKey: false,
  isRoot: true,
  origin: "setting",
  hasEnded: false,
  endsAt: null,
  ...fields,
});

const mine = (fields: Partial<OwnRow> = {}) => row({ id: "key_mine", isThisKey: true, ...fields });

describe("the root key of a process that starts", () => {
  it("is inserted where there is none", () => {
    expect(planOwnKey([], { others: "yield" })).toEqual({
      state: "current",
      keyId: undefined,
      ends: [],
    });
  });

  it("ends the one of the earlier setting", () => {
    expect(planOwnKey([row({})], { others: "end" })).toMatchObject({ ends: ["key_other"] });
  });

  it("leaves it at another process's when it was only generated", () => {
    expect(planOwnKey([row({})], { others: "yield" })).toEqual({
      state: "taken",
      keyId: "key_other",
    });
  });

  it("stands beside those of other machines where each has its own", () => {
    expect(planOwnKey([row({ origin: "sentinels" })], { others: "join" })).toMatchObject({
      state: "current",
      ends: [],
    });
  });

  it.each([
    ["was revoked", mine({ hasEnded: true })],
    ["is an ordinary key", mine({ isRoot: false })],
  ])("stays refused, and ends nobody's, when it %s", (_, own) => {
    expect(planOwnKey([own, row({})], { others: "end" })).toEqual({
      state: "ended",
      keyId: "key_mine",
    });
  });

  it("ends nobody's when it was itself replaced, by a process of a newer setting", () => {
    const endsAt = new Date("2027-01-31");

    const step = planOwnKey([mine({ origin: "replaced", endsAt }), row({})], { others: "end" });

    expect(step).toEqual({ state: "replaced", keyId: "key_mine", endsAt });
  });
});
