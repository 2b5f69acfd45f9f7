import { expect, it } from "vitest";
import { joinClaims } from "#control/sign-in/provider.ts";

const verified = { email: "ada@example.com", email_verified: true };

it.each([
  ["the UserInfo endpoint alone", { sub: "1" }, verified, verified],
  ["the ID token alone", { ...verified }, { sub: "1" }, verified],
  [
    "both: the ID token's counts",
    verified,
    { email: "b@example.com", email_verified: false },
    verified,
  ],
  [
    "the ID token without a word about it: not of another answer's address",
    { email: "b@example.com" },
    verified,
    verified,
  ],
  [
    "a word without an address",
    { email_verified: true },
    { email: "b@example.com" },
    { email: "b@example.com", email_verified: undefined },
  ],
])(
  "an address and whether it is verified come from one answer: %s",
  (_what, token, info, email) => {
    expect(joinClaims(token, info)).toMatchObject(email);
  },
);

it("prefers the ID token, and takes what it lacks from the UserInfo endpoint", () => {
  expect(joinClaims({ groups: ["a"] }, { groups: ["b"], name: "Ada" })).toMatchObject({
    groups: ["a"],
    name: "Ada",
  });
});
