import { expect, it } from "vitest";
import { createReadActor, isSigned, signActor, targetOfPath } from "#kernel/actor.ts";

const key = Buffer.alloc(32, 1);
const asked = { target: "S/k/H", body: "{}" };
const headersOf = (headers: Record<string, string>) => new Map(Object.entries(headers));
const signed = signActor("alice", asked, key);
const ciRun = { repository: "acme/shop – é", run: "42" };
const ofJob = signActor("alice", { ...asked, ciRun }, key);
const ofAccounts = signActor("alice", { ...asked, accounts: ["a"] }, key);

it("accepts a name that the gateway signed", () => {
  expect(isSigned(headersOf(signed), asked, key)).toBe(true);
});

it.each([
  ["without a signature", { "x-vedette-actor": "alice" }],
  ["without a name", {}],
  ["with the signature of another name", { ...signed, "x-vedette-actor": "bob" }],
  ["with accounts that were not signed", { ...signed, "x-vedette-accounts": "a" }],
  ["without the accounts that were signed", { ...ofAccounts, "x-vedette-accounts": "" }],
  ["with the accounts of another signature", { ...ofAccounts, "x-vedette-accounts": "b" }],
  ["without the CI job that was signed", { ...ofJob, "x-vedette-ci-run": "" }],
  ["with a CI job that was not signed", { ...signed, "x-vedette-ci-run": "e30" }],
  ["with a signature of another length", { ...signed, "x-vedette-actor-proof": "x" }],
])("accepts none %s", (_how, headers) => {
  expect(isSigned(headersOf(headers), asked, key)).toBe(false);
});

it("is valid for one handler, one body and one key only", () => {
  expect(isSigned(headersOf(signed), { ...asked, target: "S/k/Other" }, key)).toBe(false);
  expect(isSigned(headersOf(signed), { ...asked, body: "{ }" }, key)).toBe(false);
  expect(isSigned(headersOf(signed), asked, Buffer.alloc(32, 2))).toBe(false);
});

it.each([
  ["/S/k/H", "S/k/H"],
  ["/S/k/H/send", "S/k/H"],
  ["/restate/call/S/k%2F1/H", "S/k/1/H"],
  ["/restate/send/S/H", "S/H"],
  ["/S/%zz/H", undefined],
])("finds the target of %s", (path, target) => {
  expect(targetOfPath(path)).toBe(target);
});

it("a worker reads the CI job of a signed caller, and none of another", () => {
  const read = (headers: Record<string, string>) => {
    const request = {
      headers: headersOf(headers),
      body: Buffer.from(asked.body),
      target: asked.target,
    };
    return createReadActor(key)({ request: () => request } as never);
  };

  expect(read(ofJob)).toEqual({ by: "alice", isSigned: true, ciRun });
  expect(read({ ...ofJob, "x-vedette-actor": "bob" })).toEqual({ by: "bob" });
});
