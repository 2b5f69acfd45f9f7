import { afterAll, beforeAll, expect, it } from "vitest";
import { createRootKeyAdmin } from "#api/operator/root-keys.ts";
import { startTestApi, type TestApi } from "../../../support/api/api.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

it("gives a root key its permissions in the letters that they were asked for in, or none", async () => {
  const { id: workspaceId } = await api.createWorkspace();
  const admin = createRootKeyAdmin(api.database, "operator:test");
  const order = { workspaceId, name: "one", expiresAt: undefined };
  const [wrong, right] = ["api.api_ABC.read_key", "api.api_abc.read_key"];
  const permissionsOf = async (id: string) =>
    (await admin.list({ isAll: true })).find((one) => one.id === id)?.permissions;
  const mistyped = await admin.create({ ...order, permissions: [wrong] });

  const refused = admin.create({ ...order, permissions: [right, "api.*.verify_key"] });
  await expect(refused).rejects.toThrow(`a root key has ${right} with other upper and lower case`);
  await admin.revoke(mistyped.keyId);
  const made = await admin.create({ ...order, permissions: [right, "api.*.verify_key", right] });

  expect(await permissionsOf(made.keyId)).toEqual(["api.*.verify_key", right]);
});
