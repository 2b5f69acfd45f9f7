/** The namespace apis through the published client; each answer is held against the contract. */
import * as errors from "@unkey/api/models/errors";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditEvents, startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let workspace: { id: string; rootKey: string };
let unkey: ReturnType<TestApi["client"]>;
let apiId: string;

beforeAll(async () => {
  api = await startTestApi();
});

beforeEach(async () => {
  workspace = await api.createWorkspace();
  unkey = api.client(workspace.rootKey);
  ({ apiId } = (await unkey.apis.createApi({ name: "payments" })).data);
});

afterAll(() => api?.stop());

const newKey = async (fields: object = {}) =>
  (await unkey.keys.createKey({ apiId, ...fields })).data;

describe("APIs", () => {
  it("are made and shown; a name may be used twice", async () => {
    const again = (await unkey.apis.createApi({ name: "payments" })).data.apiId;

    expect((await unkey.apis.getApi({ apiId })).data).toEqual({ id: apiId, name: "payments" });
    expect(again).not.toBe(apiId);
  });

  it("are gone once they are deleted", async () => {
    const { keyId, key } = await newKey();
    await unkey.keys.verifyKey({ key });

    await unkey.apis.deleteApi({ apiId });

    expect((await unkey.keys.verifyKey({ key })).data.code).toBe("NOT_FOUND");
    const calls = await Promise.allSettled([
      unkey.apis.getApi({ apiId }),
      unkey.apis.listKeys({ apiId }),
      unkey.apis.deleteApi({ apiId }),
      unkey.keys.createKey({ apiId }),
      unkey.keys.getKey({ keyId }),
    ]);
    for (const call of calls) {
      expect(call).toMatchObject({ reason: expect.any(errors.NotFoundErrorResponse) });
    }
  });

  it("are not deleted while they are protected", async () => {
    await api.database.query("UPDATE apis SET delete_protection = true WHERE id = $1", [apiId]);
    const { key } = await newKey();

    await expect(unkey.apis.deleteApi({ apiId })).rejects.toThrow(
      errors.PreconditionFailedErrorResponse,
    );
    expect((await unkey.keys.verifyKey({ key })).data.code).toBe("VALID");
  });

  it("are deleted by one of several calls at once", async () => {
    const calls = await Promise.allSettled(
      Array.from({ length: 5 }, () => unkey.apis.deleteApi({ apiId })),
    );

    expect(calls.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("leave who made and deleted them in the audit log", async () => {
    await unkey.apis.deleteApi({ apiId });

    expect(await auditEvents(api, workspace.id)).toEqual(["api.create", "api.delete"]);
  });
});

describe("listKeys", () => {
  const list = async (query: object = {}) =>
    (await unkey.apis.listKeys({ apiId, ...query })).result;

  it("is walked page by page, each key once and in the order of ids", async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => newKey()));
    const ids = keys.map(({ keyId }) => keyId).toSorted();
    const pages: string[][] = [];

    for await (const page of await unkey.apis.listKeys({ apiId, limit: 2 })) {
      pages.push(page.result.data.map(({ keyId }) => keyId));
    }

    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  it("begins at the key that the cursor names", async () => {
    const keys = await Promise.all([newKey(), newKey(), newKey()]);
    const [, second, third] = keys.map(({ keyId }) => keyId).toSorted();

    const { data, pagination } = await list({ cursor: second });

    expect(data.map(({ keyId }) => keyId)).toEqual([second, third]);
    expect(pagination).toEqual({ hasMore: false });
  });

  it("shows of each key what getKey shows", async () => {
    await unkey.permissions.createRole({ name: "editor", permissions: ["docs.write"] });
    const { keyId } = await newKey({
      name: "a key",
      externalId: "user_1",
      meta: { plan: "pro" },
      roles: ["editor"],
      permissions: ["docs.read"],
      expires: 4_000_000_000_000,
      credits: { remaining: 10, refill: { interval: "daily", amount: 10 } },
      ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
    });

    expect((await list()).data).toEqual([(await unkey.keys.getKey({ keyId })).data]);
  });

  it("has no keys of other APIs and no deleted ones", async () => {
    const other = (await unkey.apis.createApi({ name: "other" })).data.apiId;
    await unkey.keys.createKey({ apiId: other });
    const { keyId } = await newKey();
    await unkey.keys.deleteKey({ keyId });

    expect((await list()).data).toEqual([]);
  });

  it("has the keys of one identity when it is named", async () => {
    const { keyId } = await newKey({ externalId: "user_1" });
    await newKey({ externalId: "user_2" });

    expect((await list({ externalId: "user_1" })).data).toMatchObject([{ keyId }]);
    expect((await list({ externalId: "nobody" })).data).toEqual([]);
  });

  it("shows keys themselves to who asks for it, if they are recoverable", async () => {
    const recoverable = await newKey({ recoverable: true });
    const other = await newKey();

    const shown = (await list({ decrypt: true })).data;

    const plaintextOf = (id: string) => shown.find(({ keyId }) => keyId === id)?.plaintext;
    expect(plaintextOf(recoverable.keyId)).toBe(recoverable.key);
    expect(plaintextOf(other.keyId)).toBeUndefined();
    expect((await list()).data.map(({ plaintext }) => plaintext)).toEqual([undefined, undefined]);
  });

  it("answers 412 when keys are to be shown that are never stored so", async () => {
    await api.database.query("UPDATE key_spaces SET store_encrypted_keys = false");

    const { status } = await api.call("apis.listKeys", { apiId, decrypt: true }, workspace.rootKey);

    expect(status).toBe(412);
    await api.database.query("UPDATE key_spaces SET store_encrypted_keys = true");
  });
});

describe("a root key", () => {
  const statusWith = async (grants: string[], name: string, body: object) => {
    const rootKey = await api.createRootKey(workspace.id, grants);
    return (await api.call(`apis.${name}`, body, rootKey)).status;
  };

  it("may create APIs by the permission on all of them", async () => {
    expect(await statusWith(["api.*.create_api"], "createApi", { name: "new" })).toBe(200);
    expect(await statusWith(["api.*.read_api"], "createApi", { name: "new" })).toBe(403);
  });

  it.each([
    ["getApi", "read_api"],
    ["deleteApi", "delete_api"],
  ])(
    "may call %s for all APIs or one, and learns nothing of those that are not its",
    async (name, action) => {
      const unknown = { apiId: "api_unknown123" };

      expect(await statusWith(["api.api_other123.read_api"], name, { apiId })).toBe(403);
      expect(await statusWith(["api.api_other123.read_api"], name, unknown)).toBe(403);
      expect(await statusWith([`api.*.${action}`], name, unknown)).toBe(404);
      expect(await statusWith([`api.${apiId}.${action}`], name, { apiId })).toBe(200);
    },
  );

  it.each([
    [["api.*.read_key"], 404],
    [["api.*.read_api"], 404],
    [["api.*.read_key", "api.*.read_api"], 200],
    [["api.API.read_key", "api.API.read_api"], 200],
    [["api.other.read_key", "api.API.read_api"], 404],
    [["unkey:v1:WS:keyspaces/*/keys/*#read_key", "unkey:v1:WS:keyspaces/*#read_keyspace"], 200],
    [["unkey:v1:WS:**#*"], 200],
    [["unkey:v1:ws_other:**#*"], 404],
  ])("with %j lists keys: %i", async (grants, status) => {
    const own = grants.map((grant) => grant.replace("API", apiId).replace("WS", workspace.id));

    expect(await statusWith(own, "listKeys", { apiId })).toBe(status);
  });

  it("sees keys themselves only by a permission of its own", async () => {
    const may = ["api.*.read_key", "api.*.read_api"];

    expect(await statusWith(may, "listKeys", { apiId, decrypt: true })).toBe(403);
    expect(
      await statusWith([...may, "api.*.decrypt_key"], "listKeys", { apiId, decrypt: true }),
    ).toBe(200);
  });
});

it.each([
  ["a body that is not right", { name: "x" }, undefined, errors.BadRequestErrorResponse],
  ["a root key that is not known", { name: "new" }, "unknown", errors.UnauthorizedErrorResponse],
  ["too few permissions", { name: "new" }, [], errors.ForbiddenErrorResponse],
])("the published client throws its own error for %s", async (_, body, key, expected) => {
  const rootKey = Array.isArray(key) ? await api.createRootKey(workspace.id, key) : key;
  const client = api.client(rootKey ?? workspace.rootKey);

  await expect(client.apis.createApi(body)).rejects.toThrow(expected);
});

it("the published client throws its own error when the workspace has made too many calls", async () => {
  await api.database.query("UPDATE workspaces SET api_requests_per_minute = 0 WHERE id = $1", [
    workspace.id,
  ]);
  const client = api.client(await api.createRootKey(workspace.id));

  await expect(client.apis.getApi({ apiId })).rejects.toThrow(errors.TooManyRequestsErrorResponse);
});
