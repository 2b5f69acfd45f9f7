/** What every way of signing in has in common, with a provider of the test's. */
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { createCore, type Method } from "#control/sign-in/core.ts";
import { createFlows } from "#control/sign-in/flows.ts";
import type { Provider } from "#control/sign-in/provider.ts";
import { createLog } from "#kernel/log.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";

const flow = { state: "s", nonce: "n", verifier: "v", redirectUri: "http://127.0.0.1:1/callback" };

const provider: Provider = {
  host: "login.example.com",
  start: async (redirectUri) => ({
    flow: { ...flow, redirectUri },
    url: "https://login.example.com",
  }),
  finish: async () => ({
    sub: "1",
    email: "ada@example.com",
    email_verified: true,
    groups: "platform",
  }),
  startDevice: () => Promise.reject(new Error("not asked")),
  pollDevice: () => Promise.reject(new Error("not asked")),
};

function startCore() {
  const environment = {
    VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
    VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
    VEDETTE_CONTROL__OIDC__ROLES: "platform=notify",
  };
  const { oidc, operators } = readConfig({ environment }).control;
  const lines: object[] = [];
  const silent = createLog({ level: "silent", format: "json" });
  const note = (fields: object, message: string) => void lines.push({ ...fields, message });
  const log = Object.assign(Object.create(silent) as typeof silent, { info: note, warn: note });
  const clock = { nowMs: 0 };
  const secret = Buffer.alloc(32);
  const nowMs = () => clock.nowMs;
  const names = createMemoryNames();
  return {
    core: createCore({ oidc, operators, provider, names, secret, log, nowMs }),
    lines,
    clock,
  };
}

const remote = "192.0.2.1";

it.each<[Method, string, string]>([
  ["console", "sign-in refused", "may_not_read"],
  ["command line", "signed in", ""],
  ["device", "signed in", ""],
])("a sign-in of a person who may not read by the %s: %s", async (how, message, code) => {
  const { core, lines } = startCore();
  const claims = await provider.finish(flow, "");

  const open = () => core.openSession(claims, { remote, how });

  if (code !== "") await expect(open()).rejects.toThrow("ada@example.com may only notify");
  else expect(await open()).toMatchObject({ actor: "ada@example.com", roles: ["notify"] });
  expect(lines).toEqual([expect.objectContaining({ message, how, remote, subject: "1" })]);
});

it("a flow opens only for what it was started for, for ten minutes", async () => {
  const { core, clock } = startCore();
  const flows = createFlows(core, "a test");
  const begun = await flows.start({ redirectUri: flow.redirectUri, bound: "b", remote });
  const opened = flows.open(begun.flow);
  const other = createFlows(core, "another");
  clock.nowMs = 600_000;

  expect(opened).toEqual({ ...flow, bound: "b" });
  expect(() => other.open(begun.flow)).toThrow("has expired");
  expect(() => flows.open(begun.flow)).toThrow("has expired");
});

it("the provider is not asked for an answer of another sign-in", () => {
  const { core } = startCore();

  expect(() => core.finish(flow, { query: "?code=c&state=t", remote })).toThrow("another sign-in");
  expect(() => core.finish(flow, { query: "", remote })).toThrow("another sign-in");
});

const query = "?code=c&state=s";

it("a started sign-in finishes, however many others have started behind the address", async () => {
  const { core, lines } = startCore();
  const flows = createFlows(core, "a test");
  const begin = () => flows.start({ redirectUri: flow.redirectUri, bound: "b", remote });
  for (let n = 0; n < 60; n += 1) await begin();

  const refusals = await Promise.allSettled([begin(), begin(), begin()]);
  const claims = await core.finish(flow, { query, remote });

  expect(refusals.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(claims).toMatchObject({ sub: "1" });
  expect(lines).toEqual([
    expect.objectContaining({ message: "too many sign-ins", remote, limit: "begin" }),
  ]);
});

it("one sign-in asks the provider ten times a minute, and does not limit others", async () => {
  const { core } = startCore();
  for (let n = 0; n < 10; n += 1) await core.finish(flow, { query, remote });

  expect(() => core.finish(flow, { query, remote })).toThrow("Too many sign-ins");
  const other = { ...flow, state: "t" };
  await core.finish(other, { query: "?code=c&state=t", remote });
});

it("the limits count the addresses of one visitor in IPv6 together", () => {
  const { core } = startCore();
  for (let n = 0; n < 60; n += 1) core.requireWithin("begin", { remote: `2001:db8::${n}` });

  expect(() => core.requireWithin("begin", { remote: "2001:db8::ffff" })).toThrow("Too many");
  core.requireWithin("begin", { remote: "2001:db8:0:1::1" });
});
