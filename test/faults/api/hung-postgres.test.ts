/** The public API while Postgres hangs: it accepts connections and answers nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { hangProcesses, timed } from "../../support/servers/hang.ts";
import { waitFor } from "../../support/wait-for.ts";

let api: TestApi;
let rootKey: string;
let apiId: string;
let key: string;

beforeAll(async () => {
  api = await startTestApi({}, { killsPostgres: true });
  ({ rootKey } = await api.createWorkspace());
  ({ apiId } = (await api.client(rootKey).apis.createApi({ name: "payments" })).data);
  ({ key } = (await api.client(rootKey).keys.createKey({ apiId })).data);
  await limit();
});

afterAll(() => api?.stop());

const limit = () =>
  api.call(
    "ratelimit.limit",
    { namespace: "email", identifier: "u1", limit: 1_000, duration: 60_000 },
    rootKey,
  );
const verify = () => api.call("keys.verifyKey", { key }, rootKey);

/** Hangs Postgres once this process has in memory what it needs for a key and a limit that are in use. */
async function hang(): Promise<() => void> {
  const ask = () => [api.call("apis.getApi", { apiId }, rootKey), limit(), verify()];
  await waitFor(async () => (await Promise.all(ask())).every(({ status }) => status === 200), {
    withinMs: 10_000,
    what: "Postgres to answer",
  });
  return hangProcesses(api.server.pid());
}

it.each([
  ["keys.verifyKey of an unknown key", "keys.verifyKey", () => ({ key: "unknown" })],
  ["keys.createKey", "keys.createKey", () => ({ apiId })],
  ["apis.getApi", "apis.getApi", () => ({ apiId })],
  ["apis.createApi", "apis.createApi", () => ({ name: "other" })],
  ["identities.createIdentity", "identities.createIdentity", () => ({ externalId: "u2" })],
  ["identities.listIdentities", "identities.listIdentities", () => ({})],
  ["permissions.listRoles", "permissions.listRoles", () => ({})],
  [
    "ratelimit.limit of an unknown namespace",
    "ratelimit.limit",
    () => ({ namespace: "new", identifier: "u1", limit: 1, duration: 60_000 }),
  ],
])("%s is answered 503 within five seconds", async (_, procedure, body) => {
  await hang();

  const { answer, tookMs } = await timed(() => api.call(procedure, body(), rootKey));

  expect(answer.status).toBe(503);
  expect(answer.body.error.type).toMatch(/\/service_unavailable$/);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(tookMs).toBeLessThan(5_000);
});

it.each([
  ["ratelimit.limit of a known namespace", limit],
  ["keys.verifyKey of a known key", verify],
])("%s is answered in a moment, for as long as Postgres hangs", async (_, ask) => {
  await hang();

  const took: number[] = [];
  const untilMs = performance.now() + 6_000;
  while (performance.now() < untilMs) {
    const { answer, tookMs } = await timed(ask);
    expect(answer.status).toBe(200);
    took.push(tookMs);
  }

  expect(Math.max(...took)).toBeLessThan(2_500);
  expect(took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)]).toBeLessThan(200);
});

it("a thousand calls at once are all answered within five seconds", async () => {
  await hang();

  const calls = Array.from({ length: 1_000 }, (_, index) =>
    timed(() => api.call("identities.getIdentity", { identity: `u${index}` }, rootKey)),
  );
  const answers = await Promise.all(calls);

  expect(new Set(answers.map(({ answer }) => answer.status))).toEqual(new Set([503]));
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(8_000);
});

it("calls are refused at once when it is known that Postgres hangs", async () => {
  await hang();
  await api.call("apis.getApi", { apiId }, rootKey);

  const { answer, tookMs } = await timed(() => api.call("apis.getApi", { apiId }, rootKey));

  expect(answer.status).toBe(503);
  expect(tookMs).toBeLessThan(500);
});

describe("once Postgres continues", () => {
  it("everything is answered again in a moment", async () => {
    const resume = await hang();
    await api.call("apis.getApi", { apiId }, rootKey);

    resume();

    await waitFor(async () => (await api.call("apis.getApi", { apiId }, rootKey)).status === 200, {
      withinMs: 2_000,
      what: "an answer",
    });
  });

  it("calls that were refused while they waited for a connection are not made", async () => {
    const resume = await hang();
    const names = Array.from({ length: 30 }, (_, index) => `refused-${index}`);
    await Promise.all(names.map((name) => api.call("apis.createApi", { name }, rootKey)));

    resume();
    await waitFor(async () => (await api.call("apis.getApi", { apiId }, rootKey)).status === 200, {
      withinMs: 2_000,
      what: "an answer",
    });

    const { rows } = await api.database.query(
      "SELECT count(*)::int AS made FROM apis WHERE name LIKE 'refused-%'",
    );
    expect(rows[0].made).toBe(0);
  });
});
