/** Recoverable keys that were sealed with an encryption key which a process does not have. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { startApiNode, startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let other: Awaited<ReturnType<typeof startApiNode>>;

beforeAll(async () => {
  api = await startTestApi();
  const keyRing = createKeyRing([`other:${randomBytes(32).toString("base64")}`]);
  other = await startApiNode(api.server.url, { keyRing });
});

afterAll(async () => {
  await other?.stop();
  await api?.stop();
});

async function makeKey() {
  const { rootKey } = await api.createWorkspace();
  const { apiId } = (await api.call("apis.createApi", { name: "payments" }, rootKey)).body.data;
  const made = await api.call("keys.createKey", { apiId, recoverable: true }, rootKey);
  return { rootKey, apiId, keyId: made.body.data.keyId as string };
}

it("are not shown by getKey, which says why", async () => {
  const { rootKey, keyId } = await makeKey();

  const { status, body } = await other.call("keys.getKey", { keyId, decrypt: true }, rootKey);

  expect(status).toBe(412);
  expect(body.error.detail).toContain("an encryption key that this server does not have");
});

it("are listed without the key itself, and keep no others from being shown", async () => {
  const { rootKey, apiId, keyId } = await makeKey();

  const { status, body } = await other.call("apis.listKeys", { apiId, decrypt: true }, rootKey);

  expect({ status, data: body.data }).toEqual({
    status: 200,
    data: [expect.objectContaining({ keyId })],
  });
  expect(body.data[0]).not.toHaveProperty("plaintext");
});
