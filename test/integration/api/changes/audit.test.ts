/** Who was shown a key in clear text is written down, and an operator can read it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuditReader } from "#audit/log.ts";
import { startTestApi, type TestApi } from "../../../support/api/api.ts";

let api: TestApi;
let workspace: { id: string; rootKey: string };
let apiId: string;

beforeAll(async () => {
  api = await startTestApi();
  workspace = await api.createWorkspace();
  ({ apiId } = (await api.client(workspace.rootKey).apis.createApi({ name: "payments" })).data);
});

afterAll(() => api?.stop());

const call = (procedure: string, body: object) => api.call(procedure, body, workspace.rootKey);

const newKey = async (recoverable: boolean): Promise<{ keyId: string; key: string }> =>
  (await call("keys.createKey", { apiId, recoverable })).body.data;

const read = (filter: object, page: { limit: number; cursor?: string } = { limit: 100 }) =>
  createAuditReader(api.database).list({ workspaceId: workspace.id, ...filter }, page);

const shownOf = async (targetId: string) =>
  (await read({ event: "key.decrypt", targetId })).entries;

describe("a key that is shown in clear text", () => {
  it("by getKey is recorded with who saw it from where, and without the key", async () => {
    const { keyId, key } = await newKey(true);

    const { body } = await call("keys.getKey", { keyId, decrypt: true });

    expect(body.data.plaintext).toBe(key);
    const entries = await shownOf(keyId);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      event: "key.decrypt",
      actorType: "key",
      requestId: body.meta.requestId,
      remoteIp: "127.0.0.1",
      targets: [{ type: "key", id: keyId }],
    });
    expect(JSON.stringify(entries)).not.toContain(key);
  });

  it("by listKeys is recorded with each key of the page that was shown", async () => {
    const shown = await newKey(true);
    const sealed = await newKey(false);

    await call("apis.listKeys", { apiId, decrypt: true });

    expect(await shownOf(shown.keyId)).toHaveLength(1);
    expect(await shownOf(sealed.keyId)).toHaveLength(0);
  });

  it("is not shown when that cannot be recorded", async () => {
    const { keyId, key } = await newKey(true);
    await api.database.query("ALTER TABLE audit_log RENAME TO audit_log_away");

    const answer = await call("keys.getKey", { keyId, decrypt: true });

    await api.database.query("ALTER TABLE audit_log_away RENAME TO audit_log");
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain(key);
  });

  it("is not recorded when it is read without its clear text", async () => {
    const { keyId } = await newKey(true);

    await call("keys.getKey", { keyId });

    expect(await shownOf(keyId)).toEqual([]);
  });
});

describe("the audit log", () => {
  it("is read page by page, the newest first, each entry once", async () => {
    const all = (await read({})).entries.map(({ id }) => id);
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await read({}, { limit: 2, ...(cursor !== undefined && { cursor }) });
      paged.push(...page.entries.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== undefined);

    expect(all.length).toBeGreaterThan(4);
    expect(paged).toEqual(all);
  });

  it("is read by what events begin with, by actor and by time", async () => {
    const everything = (await read({})).entries;

    const ofKeys = (await read({ event: "key.*" })).entries;

    expect(ofKeys.length).toBeGreaterThan(0);
    expect(ofKeys).toEqual(everything.filter(({ event }) => event.startsWith("key.")));
    expect((await read({ actorId: "key_none" })).entries).toEqual([]);
    expect((await read({ since: new Date(Date.now() + 60_000) })).entries).toEqual([]);
    expect((await read({ until: new Date(Date.now() + 60_000) })).entries).toEqual(everything);
  });

  it("takes an underscore or a percent sign of an event for itself", async () => {
    expect((await read({ event: "%*" })).entries).toEqual([]);
  });

  it.each([
    "nonsense",
    ["2026-01-01'", 1],
    ["2026-02-30 00:00:00+00", "log_1"],
    ["2026-01-01 25:00:00+00", "log_1"],
    ["2026-01-01 00:00:00+00", "log_\0"],
  ])("refuses the cursor %j", async (content) => {
    const cursor = Buffer.from(JSON.stringify(content)).toString("base64url");

    await expect(read({}, { limit: 2, cursor })).rejects.toThrow("not a cursor of this list");
  });
});
