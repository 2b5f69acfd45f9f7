import { expect, it } from "vitest";
import { isSigned, signActor, targetOfPath } from "#kernel/actor.ts";

const key = Buffer.alloc(32, 1);
const asked = { target: "S/k/H", body: "{}" };
const headersOf = (headers: Record<string, string>) => new Map(Object.entries(headers));
const signed = signActor("alice", asked, key);
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
