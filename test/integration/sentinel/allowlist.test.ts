/** A key that is allowed from some addresses only, with the real API behind a sentinel. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { exchange, startEcho, startSentinel } from "../../support/rollout/sentinel.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

/** A key for 198.51.100.0/24, and a root key that verifies it. */
async function createListedKey() {
  const { rootKey } = await api.createWorkspace();
  const { apiId } = (await api.call("apis.createApi", { name: "orders" }, rootKey)).body.data;
  await api.database.query("UPDATE apis SET ip_allowlist = $2 WHERE id = $1", [
    apiId,
    ["198.51.100.0/24"],
  ]);
  const { key } = (await api.call("keys.createKey", { apiId }, rootKey)).body.data;
  return { key, rootKey };
}

async function askSentinel(forwardedFor: string, trustedProxies: string[]) {
  const { key, rootKey } = await createListedKey();
  const upstreamUrl = (await startEcho()).url;
  const sentinel = await startSentinel({ upstreamUrl, apiUrl: api.url, rootKey, trustedProxies });
  const lines = ["GET / HTTP/1.1", "Host: s", "Connection: close", `Authorization: Bearer ${key}`];
  return exchange(
    sentinel.url,
    [...lines, `X-Forwarded-For: ${forwardedFor}`, "", ""].join("\r\n"),
  );
}

it("accepts a caller whose allowed address a trusted proxy names", async () => {
  const answer = await askSentinel("198.51.100.7", ["127.0.0.1"]);

  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

it("refuses a caller whose other address a trusted proxy names", async () => {
  const answer = await askSentinel("203.0.113.7", ["127.0.0.1"]);

  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
});

it("refuses a caller that names an allowed address itself", async () => {
  const answer = await askSentinel("198.51.100.7", []);

  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
});

it.each([
  ["198.51.100.7", "VALID"],
  ["198.51.100.7:4711, 10.0.0.1", "VALID"],
  ["203.0.113.7, 198.51.100.7", "FORBIDDEN"],
  ["unknown", "FORBIDDEN"],
  ["fe80::1%eth0", "FORBIDDEN"],
  [undefined, "FORBIDDEN"],
])("a caller with a root key that names %s as its client gets %s", async (client, code) => {
  const { key, rootKey } = await createListedKey();

  const answer = await fetch(`${api.url}/v2/keys.verifyKey`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${rootKey}`,
      "content-type": "application/json",
      ...(client !== undefined && { "x-forwarded-for": client }),
    },
    body: JSON.stringify({ key }),
  });

  expect(((await answer.json()) as { data: { code: string } }).data.code).toBe(code);
});
