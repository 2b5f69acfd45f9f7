/** How often the provider is asked whether somebody has entered a code. */
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { createCore } from "#control/sign-in/core.ts";
import { createDevices } from "#control/sign-in/door.ts";
import type { DevicePoll, Provider } from "#control/sign-in/provider.ts";
import { createLog } from "#kernel/log.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";

const start = {
  deviceCode: "d",
  userCode: "ABCD-EFGH",
  verificationUri: "https://login.example.com/device",
  completeUri: undefined,
  intervalSeconds: 5,
  expiresInSeconds: 600,
};

function startDevices(answers: DevicePoll[]) {
  const clock = { nowMs: 0 };
  const polledAt: number[] = [];
  const provider: Provider = {
    host: "login.example.com",
    start: () => Promise.reject(new Error("not asked")),
    finish: () => Promise.reject(new Error("not asked")),
    startDevice: async () => start,
    pollDevice: async () => {
      polledAt.push(clock.nowMs / 1_000);
      return answers.shift() ?? { pending: true, isTooFast: false };
    },
  };
  const environment = {
    VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
    VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
    VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
  };
  const { oidc, operators } = readConfig({ environment }).control;
  const log = createLog({ level: "silent", format: "json" });
  const secret = Buffer.alloc(32);
  const nowMs = () => clock.nowMs;
  const names = createMemoryNames();
  const core = createCore({ oidc, operators, provider, names, secret, log, nowMs });
  return { devices: createDevices(core), clock, polledAt };
}

const remote = "192.0.2.1";

it("the sign-in by code asks in the provider's interval, and in a longer one once it was too fast", async () => {
  const { devices, clock, polledAt } = startDevices([{ pending: true, isTooFast: true }]);
  const flow = devices.open((await devices.start("c", remote)).flow);

  const intervals: number[] = [];
  for (let second = 0; second <= 30; second += 1) {
    clock.nowMs = second * 1_000;
    intervals.push((await devices.poll(flow, remote)).intervalSeconds);
  }

  expect(polledAt).toEqual([0, 10, 20, 30]);
  expect(new Set(intervals)).toEqual(new Set([10]));
});

it("the sign-in by code makes a session once the provider says who it is", async () => {
  const claims = { sub: "1", email: "ada@example.com", email_verified: true };
  const { devices } = startDevices([{ claims }]);
  const flow = devices.open((await devices.start("c", remote)).flow);

  const { session } = await devices.poll(flow, remote);

  expect(session).toMatchObject({ actor: "ada@example.com", roles: ["read"] });
});

it("forgets a code when the provider does", async () => {
  const { devices, clock } = startDevices([]);
  const { flow } = await devices.start("c", remote);
  clock.nowMs = 600_000;

  expect(() => devices.open(flow)).toThrow("has expired");
});

it("an address starts 60 sign-ins by code a minute", async () => {
  const { devices } = startDevices([]);
  for (let n = 0; n < 60; n += 1) await devices.start("c", remote);

  await expect(devices.start("c", remote)).rejects.toThrow("Too many sign-ins");
});

it("an address may poll the provider 300 times a minute", async () => {
  const { devices, polledAt } = startDevices([]);
  const flowOf = (n: number) => ({ deviceCode: `d${n}`, challenge: "c", intervalSeconds: 5 });
  for (let n = 0; n < 300; n += 1) await devices.poll(flowOf(n), remote);

  await expect(devices.poll(flowOf(300), remote)).rejects.toThrow("Too many sign-ins");
  // One for which it is too early is answered without the provider.
  await devices.poll(flowOf(1), remote);
  await devices.poll(flowOf(301), "192.0.2.2");

  expect(polledAt).toHaveLength(301);
});
