/** Two processes' worth of API on one database: what one changes, the other obeys. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { insertRootKey } from "#api/access/root-key.ts";
import { inTransaction, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startApiNode, startTestApi, type TestApi } from "../../support/api/api.ts";
import { waitFor } from "../../support/wait-for.ts";

let first: TestApi;
let second: Awaited<ReturnType<typeof startApiNode>>;
let rootKey: string;
let apiId: string;

beforeAll(async () => {
  first = await startTestApi({}, { killsPostgres: true });
  second = await startApiNode(first.server.url);
  ({ rootKey } = await first.createWorkspace());
  ({ apiId } = (await first.client(rootKey).apis.createApi({ name: "payments" })).data);
});

afterAll(async () => {
  await second?.stop();
  await first?.stop();
});

const newKey = async (fields: object = {}) =>
  (await first.client(rootKey).keys.createKey({ apiId, ...fields })).data;

const codeAt = async (node: Pick<TestApi, "call">, key: string): Promise<string> =>
  (await node.call("keys.verifyKey", { key }, rootKey)).body.data.code;

/** Verifies at both nodes, so that both have it cached. */
async function warm(key: string): Promise<void> {
  expect([await codeAt(first, key), await codeAt(second, key)]).toEqual(["VALID", "VALID"]);
}

it("spends exactly the credits there are over two processes", async () => {
  const { keyId, key } = await newKey({ credits: { remaining: 50 } });

  const codes = await Promise.all(
    Array.from({ length: 200 }, (_, index) => codeAt(index % 2 === 0 ? first : second, key)),
  );

  expect(codes.filter((code) => code === "VALID")).toHaveLength(50);
  expect(codes.filter((code) => code === "USAGE_EXCEEDED")).toHaveLength(150);
  const { body } = await first.call("keys.getKey", { keyId }, rootKey);
  expect(body.data.credits.remaining).toBe(0);
});

describe("a key ends at once here and within a second there", () => {
  const ways: [string, string, (keyId: string) => Promise<unknown>, string][] = [
    ["deleted", "keys.deleteKey", async (keyId) => ({ keyId }), "NOT_FOUND"],
    ["disabled", "keys.updateKey", async (keyId) => ({ keyId, enabled: false }), "DISABLED"],
    ["rerolled", "keys.rerollKey", async (keyId) => ({ keyId, expiration: 0 }), "EXPIRED"],
    ["of a deleted API", "apis.deleteApi", async () => ({ apiId }), "NOT_FOUND"],
  ];

  it.each(ways)("when it is %s", async (_, procedure, body, code) => {
    const { keyId, key } = await newKey();
    await warm(key);

    const answer = await first.call(procedure, await body(keyId), rootKey);

    expect(answer.status).toBe(200);
    expect(await codeAt(first, key)).toBe(code);
    await waitFor(async () => (await codeAt(second, key)) === code, {
      withinMs: 1_000,
      what: `${code} at the other process`,
    });
    if (procedure === "apis.deleteApi") {
      ({ apiId } = (await first.client(rootKey).apis.createApi({ name: "payments" })).data);
    }
  });
});

/** The status that a call with this bearer is answered. */
async function statusAt(node: { url: string }, bearer: string): Promise<number> {
  const answer = await fetch(`${node.url}/v2/keys.verifyKey`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify({ key: "unknown" }),
  });
  await answer.body?.cancel();
  return answer.status;
}

it("a root key works at once at every process, also at one that was asked for it in vain", async () => {
  for (const round of [1, 2, 3, 4, 5]) {
    const key = `a-root-key-that-is-made-in-round-${round}`;
    expect(await statusAt(second, key)).toBe(401);

    await inTransaction(first.database, (transaction) =>
      insertRootKey(transaction, {
        key,
        forWorkspaceId: "ws_default",
        name: "test",
        permissions: ["*"],
      }),
    );

    expect(await statusAt(second, key)).toBe(200);
  }
});

it("a flood of unknown keys leaves the pool to those who have one", async () => {
  const { key } = await newKey();
  let most = 0;
  let running = 0;
  const counted = openDatabase(first.server.url, createLog({ level: "silent", format: "json" }));
  const query = counted.query.bind(counted) as (...given: unknown[]) => Promise<unknown>;
  counted.query = ((...given: unknown[]) => {
    running += 1;
    most = Math.max(most, running);
    return query(...given).finally(() => {
      running -= 1;
    });
  }) as typeof counted.query;
  // Its budgets are not filled again, however long the flood takes.
  const node = await startApiNode(first.server.url, { database: counted, nowMs: () => 0 });
  onTestFinished(async () => {
    await node.stop();
    await counted.end();
  });
  // What is free is used up first.
  const flood = (wave: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) => statusAt(node, `unknown ${wave} ${index}`)),
    );
  for (let wave = 0; wave < 6; wave += 1) await flood(wave, 50);
  most = 0;

  const [statuses, code] = await Promise.all([flood(7, 100), codeAt(node, key)]);

  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(code).toBe("VALID");
  expect(most).toBeLessThan(8);
});

it("obeys what it did not hear because its connection was cut", async () => {
  const { keyId, key } = await newKey();
  await warm(key);

  await first.database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%invalidation'",
  );
  await first.call("keys.updateKey", { keyId, enabled: false }, rootKey);

  await waitFor(async () => (await codeAt(second, key)) === "DISABLED", {
    withinMs: 1_000,
    what: "DISABLED at the process that was deaf",
  });
});

it("goes on with the keys it knows while Postgres is down, and obeys when it is back", async () => {
  const { keyId, key } = await newKey();
  await warm(key);

  await first.server.kill9();
  const during = await codeAt(second, key);
  const mutation = await first.call("keys.updateKey", { keyId, enabled: false }, rootKey);
  await first.server.restart();

  expect(during).toBe("VALID");
  expect(mutation.status).toBe(503);
  expect(mutation.body.error.type).toMatch(/\/service_unavailable$/);
  expect(mutation.headers.get("retry-after")).toBe("1");
  await waitFor(
    async () =>
      (await first.call("keys.updateKey", { keyId, enabled: false }, rootKey)).status === 200,
    { withinMs: 15_000, what: "a change after the restart" },
  );
  await waitFor(async () => (await codeAt(second, key)) === "DISABLED", {
    withinMs: 5_000,
    what: "DISABLED after the restart",
  });
});
