/** The namespace identities through the published client; each answer is held against the contract. */
import * as errors from "@unkey/api/models/errors";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditEvents, startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let workspace: { id: string; rootKey: string };
let unkey: ReturnType<TestApi["client"]>;
let identities: typeof unkey.identities;

beforeAll(async () => {
  api = await startTestApi();
});

beforeEach(async () => {
  workspace = await api.createWorkspace();
  unkey = api.client(workspace.rootKey);
  identities = unkey.identities;
});

afterAll(() => api?.stop());

const newIdentity = async (externalId: string, fields: object = {}) =>
  (await identities.createIdentity({ externalId, ...fields })).data.identityId;

const show = async (identity: string) => (await identities.getIdentity({ identity })).data;

const limit = (name: string, fields: object = {}) => ({
  name,
  limit: 10,
  duration: 60_000,
  autoApply: true,
  ...fields,
});

describe("createIdentity", () => {
  it("makes an identity with metadata and limits, found by id and external id", async () => {
    const meta = { plan: "pro", nested: { list: [1, "two", null, { three: 3.5 }] } };

    const id = await newIdentity("user_1", { meta, ratelimits: [limit("requests")] });

    const shown = {
      id,
      externalId: "user_1",
      meta,
      ratelimits: [{ id: expect.stringMatching(/^rl_/), ...limit("requests") }],
    };
    expect(await show(id)).toEqual(shown);
    expect(await show("user_1")).toEqual(shown);
  });

  it("leaves out what is empty", async () => {
    const id = await newIdentity("user_1", { meta: {}, ratelimits: [] });

    const { body } = await api.call("identities.getIdentity", { identity: id }, workspace.rootKey);

    expect(body.data).toEqual({ id, externalId: "user_1" });
  });

  it("tells external ids apart by their case, and refuses one that is there", async () => {
    await newIdentity("user_1");
    await newIdentity("USER_1");

    await expect(newIdentity("user_1")).rejects.toThrow(errors.ConflictErrorResponse);
  });

  it("takes an id for an id before an external id", async () => {
    const id = await newIdentity("user_1");
    await newIdentity(id);

    expect((await show(id)).externalId).toBe("user_1");
  });

  it("refuses two limits of one name", async () => {
    const ratelimits = [limit("requests"), limit("requests", { limit: 5 })];

    await expect(newIdentity("user_1", { ratelimits })).rejects.toThrow(
      errors.BadRequestErrorResponse,
    );
    await expect(show("user_1")).rejects.toThrow(errors.NotFoundErrorResponse);
  });

  it("refuses metadata of more than a megabyte", async () => {
    const meta = { text: "x".repeat(1024 * 1024) };

    await expect(newIdentity("user_1", { meta })).rejects.toThrow(
      "Metadata is too large: it must be at most 1.0 MB, but is 1.1 MB.",
    );
  });

  it("keeps a megabyte of metadata", async () => {
    const meta = { text: "x".repeat(1024 * 1024 - 11) };

    await newIdentity("user_1", { meta });

    expect((await show("user_1")).meta).toEqual(meta);
  });
});

describe("updateIdentity", () => {
  it("replaces limits by name and keeps the ids of those that stay", async () => {
    await newIdentity("user_1", { ratelimits: [limit("gone"), limit("kept")] });
    const before = (await show("user_1")).ratelimits;

    const { data } = await identities.updateIdentity({
      identity: "user_1",
      ratelimits: [limit("kept", { limit: 99 }), limit("made")],
    });

    expect(data.ratelimits).toEqual([
      { ...limit("kept", { limit: 99 }), id: before?.[1]?.id },
      { ...limit("made"), id: expect.stringMatching(/^rl_/) },
    ]);
    expect(await show("user_1")).toEqual(data);
  });

  it("leaves alone what is not given, and echoes the metadata that was", async () => {
    const id = await newIdentity("user_1", { meta: { a: 1 }, ratelimits: [limit("requests")] });
    const call = (body: object) =>
      api.call("identities.updateIdentity", { identity: id, ...body }, workspace.rootKey);

    const onlyLimits = await call({ ratelimits: [] });
    const onlyMeta = await call({ meta: { b: 2 } });

    expect(onlyLimits.body.data).toEqual({ id, externalId: "user_1" });
    expect(onlyMeta.body.data).toEqual({ id, externalId: "user_1", meta: { b: 2 } });
    expect((await show(id)).meta).toEqual({ b: 2 });
  });

  it("clears metadata that is given as empty", async () => {
    await newIdentity("user_1", { meta: { a: 1 } });

    await identities.updateIdentity({ identity: "user_1", meta: {} });

    expect((await show("user_1")).meta).toBeUndefined();
  });

  it("refuses two limits of one name, and changes nothing", async () => {
    await newIdentity("user_1", { meta: { a: 1 } });

    const refused = identities.updateIdentity({
      identity: "user_1",
      meta: { b: 2 },
      ratelimits: [limit("requests"), limit("requests")],
    });

    await expect(refused).rejects.toThrow(errors.BadRequestErrorResponse);
    expect((await show("user_1")).meta).toEqual({ a: 1 });
  });

  it("is seen by the next verification of its keys", async () => {
    const { apiId } = (await unkey.apis.createApi({ name: "payments" })).data;
    const { key } = (await unkey.keys.createKey({ apiId, externalId: "user_1" })).data;
    await unkey.keys.verifyKey({ key });

    await identities.updateIdentity({
      identity: "user_1",
      meta: { plan: "pro" },
      ratelimits: [limit("requests", { limit: 1 })],
    });

    const first = (await unkey.keys.verifyKey({ key })).data;
    const second = (await unkey.keys.verifyKey({ key })).data;
    expect(first).toMatchObject({ code: "VALID", identity: { meta: { plan: "pro" } } });
    expect(second.code).toBe("RATE_LIMITED");
  });

  it("keeps to one of two calls at once", async () => {
    await newIdentity("user_1");
    const set = (names: string[]) =>
      identities.updateIdentity({ identity: "user_1", ratelimits: names.map((n) => limit(n)) });

    await Promise.all([set(["aaa", "bbb"]), set(["bbb", "ccc"]), set(["ccc", "aaa"])]);

    const names = (await show("user_1")).ratelimits?.map(({ name }) => name);
    expect([
      ["aaa", "bbb"],
      ["bbb", "ccc"],
      ["aaa", "ccc"],
    ]).toContainEqual(names);
  });
});

describe("deleteIdentity", () => {
  it("answers nothing but the request's id", async () => {
    await newIdentity("user_1");

    const { status, body } = await api.call(
      "identities.deleteIdentity",
      { identity: "user_1" },
      workspace.rootKey,
    );

    expect([status, body]).toEqual([200, { meta: { requestId: expect.any(String) } }]);
  });

  it("leaves its keys, without the identity and its limits", async () => {
    await newIdentity("user_1", { ratelimits: [limit("requests", { limit: 1 })] });
    const { apiId } = (await unkey.apis.createApi({ name: "payments" })).data;
    const { key } = (await unkey.keys.createKey({ apiId, externalId: "user_1" })).data;
    expect((await unkey.keys.verifyKey({ key })).data.identity?.externalId).toBe("user_1");

    await identities.deleteIdentity({ identity: "user_1" });

    const { data } = await unkey.keys.verifyKey({ key });
    expect(data).toMatchObject({ code: "VALID" });
    expect([data.identity, data.ratelimits]).toEqual([undefined, undefined]);
  });

  it("frees the external id, again and again", async () => {
    const ids = [await newIdentity("user_1")];
    await identities.deleteIdentity({ identity: "user_1" });
    ids.push(await newIdentity("user_1"));
    await identities.deleteIdentity({ identity: "user_1" });
    ids.push(await newIdentity("user_1"));

    expect(new Set(ids).size).toBe(3);
    expect((await show("user_1")).id).toBe(ids[2]);
  });

  it("tells of what is not there as a typed error, once deleted too", async () => {
    await newIdentity("user_1");
    await identities.deleteIdentity({ identity: "user_1" });

    const refused = identities.deleteIdentity({ identity: "user_1" });

    await expect(refused).rejects.toThrow(errors.NotFoundErrorResponse);
    await expect(identities.updateIdentity({ identity: "user_1" })).rejects.toThrow(
      errors.NotFoundErrorResponse,
    );
    await expect(show("user_1")).rejects.toThrow(errors.NotFoundErrorResponse);
  });

  it("answers each of its errors as problem+json", async () => {
    const call = (body: unknown, rootKey: string) =>
      api.call("identities.deleteIdentity", body, rootKey);
    const weak = await api.createRootKey(workspace.id, []);

    const answers = [
      await call({}, workspace.rootKey),
      await call({ identity: "user_1" }, "unknown"),
      await call({ identity: "user_1" }, weak),
      await call({ identity: "user_1" }, workspace.rootKey),
    ];

    expect(answers.map(({ status }) => status)).toEqual([400, 401, 403, 404]);
    for (const { headers } of answers) {
      expect(headers.get("content-type")).toContain("application/problem+json");
    }
  });
});

describe("listIdentities", () => {
  const list = async (query: object) => (await identities.listIdentities(query)).result;

  it("is walked page by page, each identity once", async () => {
    const ids = await Promise.all(["a", "b", "c", "d", "e"].map((name) => newIdentity(name)));
    const pages: string[][] = [];

    for await (const page of await identities.listIdentities({ limit: 2 })) {
      pages.push(page.result.data.map(({ id }) => id));
    }

    expect(pages).toEqual([
      ids.toSorted().slice(0, 2),
      ids.toSorted().slice(2, 4),
      ids.toSorted().slice(4),
    ]);
  });

  it("has neither deleted identities nor a cursor on its last page", async () => {
    await newIdentity("user_1");
    await newIdentity("user_2", { meta: { a: 1 }, ratelimits: [limit("requests")] });
    await identities.deleteIdentity({ identity: "user_1" });

    const { data, pagination } = await list({ limit: 1 });

    expect(data).toMatchObject([{ externalId: "user_2", meta: { a: 1 }, ratelimits: [{}] }]);
    expect(pagination).toEqual({ hasMore: false });
  });

  it.each([
    ["  Ada ", ["ada.lovelace"]],
    ["a%", []],
    ["ad_", []],
    ["-x_", ["grace-x_1"]],
  ])("is searched for %j", async (search, found) => {
    await newIdentity("ada.lovelace");
    await newIdentity("grace-x_1");

    expect((await list({ search })).data.map(({ externalId }) => externalId)).toEqual(found);
  });
});

describe("a root key", () => {
  it.each([
    ["createIdentity", { externalId: "user_2" }, "create_identity"],
    ["getIdentity", { identity: "user_1" }, "read_identity"],
    ["listIdentities", {}, "read_identity"],
    ["listIdentities", { search: "nobody" }, "read_identity"],
    ["updateIdentity", { identity: "user_1" }, "update_identity"],
    ["deleteIdentity", { identity: "user_1" }, "delete_identity"],
  ])("may call %s with %j by a permission or a URN, and no less", async (name, body, action) => {
    const callWith = async (grant: string) => {
      const rootKey = await api.createRootKey(workspace.id, [grant]);
      return (await api.call(`identities.${name}`, body, rootKey)).status;
    };
    await newIdentity("user_1");

    expect(await callWith("identity.*.other_action")).toBe(403);
    expect(await callWith(`unkey:v1:ws_other:**#${action}`)).toBe(403);
    expect(await callWith(`identity.*.${action}`)).toBe(200);
    if (name === "createIdentity" || name === "deleteIdentity") return;
    expect(await callWith(`unkey:v1:${workspace.id}:identities/*#${action}`)).toBe(200);
    expect(await callWith(`unkey:v1:${workspace.id}:**#*`)).toBe(200);
  });

  it("may read one identity alone", async () => {
    const own = await newIdentity("user_1");
    await newIdentity("user_2");
    const rootKey = await api.createRootKey(workspace.id, [`identity.${own}.read_identity`]);
    const status = async (name: string, body: object) =>
      (await api.call(`identities.${name}`, body, rootKey)).status;

    expect(await status("getIdentity", { identity: "user_1" })).toBe(200);
    expect(await status("getIdentity", { identity: "user_2" })).toBe(403);
    expect(await status("listIdentities", { search: "user_1" })).toBe(200);
    expect(await status("listIdentities", {})).toBe(403);
  });
});

it("writes what was done to the audit log", async () => {
  await newIdentity("user_1", { ratelimits: [limit("aaa"), limit("bbb")] });
  await identities.updateIdentity({ identity: "user_1", ratelimits: [limit("aaa", { limit: 1 })] });
  await identities.deleteIdentity({ identity: "user_1" });

  expect((await auditEvents(api, workspace.id)).toSorted()).toEqual([
    "identity.create",
    "identity.delete",
    "identity.update",
    "ratelimit.create",
    "ratelimit.create",
    "ratelimit.delete",
    "ratelimit.update",
  ]);
});
