/** The namespace keys through the published client; each answer is held against the wire contract. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

let api: TestApi;
let workspace: Awaited<ReturnType<TestApi["createWorkspace"]>>;
let unkey: ReturnType<TestApi["client"]>;
let apiId: string;

beforeAll(async () => {
  api = await startTestApi();
  workspace = await api.createWorkspace();
  unkey = api.client(workspace.rootKey);
  apiId = (await unkey.apis.createApi({ name: "payments" })).data.apiId;
});

afterAll(() => api?.stop());

const newKey = async (fields: object = {}) =>
  (await unkey.keys.createKey({ apiId, ...fields })).data;

const verify = async (key: string, fields: object = {}) =>
  (await unkey.keys.verifyKey({ key, ...fields })).data;

const show = async (keyId: string, decrypt = false) =>
  (await unkey.keys.getKey({ keyId, decrypt })).data;

describe("createKey", () => {
  it("makes a key with all that it may carry", async () => {
    await unkey.permissions.createRole({ name: "editor", permissions: ["documents.write"] });

    const { keyId, key } = await newKey({
      prefix: "prod",
      name: "for the test",
      externalId: "user_1",
      meta: { plan: "pro", nested: { a: [1, null] } },
      roles: ["editor"],
      permissions: ["documents.read", "documents.READ"],
      expires: 4_000_000_000_000,
      credits: { remaining: 100, refill: { interval: "monthly", amount: 500, refillDay: 31 } },
      ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
      byteLength: 32,
    });

    expect(key).toMatch(/^prod_[1-9A-HJ-NP-Za-km-z]{40,}$/);
    expect(await show(keyId)).toMatchObject({
      start: key.slice(0, 9),
      enabled: true,
      name: "for the test",
      meta: { plan: "pro", nested: { a: [1, null] } },
      roles: ["editor"],
      permissions: ["documents.read", "documents.write"],
      expires: 4_000_000_000_000,
      credits: { remaining: 100, refill: { interval: "monthly", amount: 500, refillDay: 31 } },
      identity: { externalId: "user_1" },
      ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
    });
  });

  it("stores nothing that a key could be made from", async () => {
    const { keyId, key } = await newKey({ prefix: "prod" });

    const { rows } = await api.database.query("SELECT keys::text AS row FROM keys WHERE id = $1", [
      keyId,
    ]);

    expect(rows[0].row).not.toContain(key.slice("prod_".length + 4));
  });

  it("leaves nothing behind when a role is not known", async () => {
    const before = await api.database.query("SELECT count(*) FROM keys");

    const refused = newKey({ roles: ["nobody"], externalId: "user_of_nobody" });

    await expect(refused).rejects.toThrow("Role 'nobody' was not found.");
    expect((await api.database.query("SELECT count(*) FROM keys")).rows).toEqual(before.rows);
    const identities = await api.database.query(
      "SELECT 1 FROM identities WHERE external_id = 'user_of_nobody'",
    );
    expect(identities.rowCount).toBe(0);
  });

  it.each([
    [{ remaining: null, refill: { interval: "daily", amount: 1 } }, "`credits.remaining` must be"],
    [
      { remaining: 1, refill: { interval: "monthly", amount: 1 } },
      "`credits.refill.refillDay` must",
    ],
    [{ remaining: 1, refill: { interval: "daily", amount: 1, refillDay: 2 } }, "must not be given"],
  ])("refuses credits %j", async (credits, detail) => {
    await expect(newKey({ credits })).rejects.toThrow(detail);
  });

  it("keeps the largest numbers that the contract allows", async () => {
    const { keyId } = await newKey({
      credits: { remaining: 9_223_372_036_854_775_000 },
      ratelimits: [{ name: "huge", limit: 1e18, duration: 1e15, autoApply: false }],
    });

    const { body } = await api.call("keys.getKey", { keyId }, workspace.rootKey);

    expect(body.data.credits.remaining).toBe(9_223_372_036_854_775_000);
  });

  it("shows a recoverable key again, and no other", async () => {
    const recoverable = await newKey({ recoverable: true });
    const other = await newKey();

    expect((await show(recoverable.keyId, true)).plaintext).toBe(recoverable.key);
    expect((await show(recoverable.keyId)).plaintext).toBeUndefined();
    expect((await show(other.keyId, true)).plaintext).toBeUndefined();
  });

  it("tells who may not create keys that there is no such API", async () => {
    const rootKey = await api.createRootKey(workspace.id, ["api.api_other.create_key"]);

    const { status, body } = await api.call("keys.createKey", { apiId }, rootKey);

    expect([status, body.error.type]).toEqual([
      404,
      expect.stringMatching(/unkey\/data\/api_not_found$/),
    ]);
  });
});

describe("updateKey", () => {
  it("keeps what is absent, clears what is null and sets the rest", async () => {
    const { keyId } = await newKey({
      name: "old",
      externalId: "user_2",
      meta: { a: 1 },
      expires: 4_000_000_000_000,
      credits: { remaining: 5, refill: { interval: "daily", amount: 5 } },
    });

    await unkey.keys.updateKey({ keyId, name: "new", expires: null, credits: { refill: null } });
    const changed = await show(keyId);
    await unkey.keys.updateKey({ keyId, name: null, meta: null, externalId: null, credits: null });
    const cleared = await show(keyId);

    expect(changed).toMatchObject({
      name: "new",
      meta: { a: 1 },
      credits: { remaining: 5 },
      identity: { externalId: "user_2" },
    });
    expect(changed.expires).toBeUndefined();
    expect(changed.credits?.refill).toBeUndefined();
    for (const field of ["name", "meta", "identity", "credits"] as const) {
      expect(cleared[field]).toBeUndefined();
    }
  });

  it("replaces limits, roles and permissions; a limit that stays keeps its id", async () => {
    await unkey.permissions.createRole({ name: "reader" });
    const limit = { limit: 1, duration: 1_000, autoApply: false };
    const { keyId } = await newKey({
      permissions: ["a", "b"],
      ratelimits: [
        { name: "stays", ...limit },
        { name: "goes", ...limit },
      ],
    });
    const before = await show(keyId);

    await unkey.keys.updateKey({
      keyId,
      permissions: ["b", "c"],
      roles: ["reader"],
      ratelimits: [
        { name: "stays", ...limit, limit: 2 },
        { name: "comes", ...limit },
      ],
    });

    const after = await show(keyId);
    const idOf = (key: typeof before, name: string) =>
      key.ratelimits?.find((rule) => rule.name === name)?.id;
    expect(after.permissions).toEqual(["b", "c"]);
    expect(after.roles).toEqual(["reader"]);
    expect(after.ratelimits?.map(({ name }) => name)).toEqual(["comes", "stays"]);
    expect(idOf(after, "stays")).toBe(idOf(before, "stays"));
  });
});

describe("permissions and roles of a key", () => {
  it("are added, set and removed", async () => {
    const { keyId } = await newKey({ permissions: ["p.a"] });
    const slugs = (answer: { data: { slug: string }[] }) => answer.data.map(({ slug }) => slug);

    const added = await unkey.keys.addPermissions({ keyId, permissions: ["p.b", "P.B"] });
    const removed = await unkey.keys.removePermissions({ keyId, permissions: ["p.a"] });
    const set = await unkey.keys.setPermissions({ keyId, permissions: ["p.c", "p.a"] });
    const cleared = await unkey.keys.setPermissions({ keyId, permissions: [] });

    expect([added, removed, set, cleared].map(slugs)).toEqual([
      ["p.a", "p.b"],
      ["p.b"],
      ["p.a", "p.c"],
      [],
    ]);
  });

  it("of roles hold for the next verification", async () => {
    await unkey.permissions.createRole({ name: "shipper", permissions: ["ship"] });
    const { keyId, key } = await newKey();
    await verify(key);

    const added = await unkey.keys.addRoles({ keyId, roles: ["shipper"] });
    const may = await verify(key, { permissions: "ship" });
    await unkey.keys.removeRoles({ keyId, roles: ["shipper"] });
    const mayNot = await verify(key, { permissions: "ship" });

    expect(added.data).toMatchObject([{ name: "shipper", permissions: [{ slug: "ship" }] }]);
    expect([may.code, mayNot.code]).toEqual(["VALID", "INSUFFICIENT_PERMISSIONS"]);
    expect((await unkey.keys.setRoles({ keyId, roles: [] })).data).toEqual([]);
  });

  it("are made only by who may", async () => {
    const { keyId } = await newKey();
    const rootKey = await api.createRootKey(workspace.id, [
      "api.*.update_key",
      "rbac.*.add_permission_to_key",
    ]);
    const unknown = { keyId, permissions: [`new.${keyId}`] };

    const { status, body } = await api.call("keys.addPermissions", unknown, rootKey);

    expect([status, body.error.detail]).toEqual([
      403,
      "Missing permission: 'rbac.*.create_permission'",
    ]);
  });

  it.each([
    ["keys.removePermissions", { permissions: ["no.such"] }, "permission_not_found"],
    ["keys.addRoles", { roles: ["no such"] }, "role_not_found"],
    ["keys.setRoles", { roles: ["no such"] }, "role_not_found"],
  ])("%s refuses what is not known", async (procedure, fields, code) => {
    const { keyId } = await newKey();

    const { status, body } = await api.call(procedure, { keyId, ...fields }, workspace.rootKey);

    expect([status, body.error.type]).toEqual([404, expect.stringContaining(code)]);
  });
});

describe("updateCredits", () => {
  it("sets, adds and takes, never below zero", async () => {
    const { keyId } = await newKey({ credits: { remaining: 10 } });
    const change = async (operation: "set" | "increment" | "decrement", value?: number | null) =>
      (await unkey.keys.updateCredits({ keyId, operation, value })).data.remaining;

    expect(await change("increment", 5)).toBe(15);
    expect(await change("decrement", 4)).toBe(11);
    expect(await change("decrement", 100)).toBe(0);
    expect(await change("set", 7)).toBe(7);
    expect(await change("set", null)).toBeNull();
    await expect(change("increment", 1)).rejects.toThrow("unlimited credits");
    await expect(change("decrement")).rejects.toThrow("`value` must be provided");
  });

  it("keeps the refill unless the credits become unlimited by null", async () => {
    const refill = { interval: "daily" as const, amount: 5 };
    const { keyId } = await newKey({ credits: { remaining: 1, refill } });

    await unkey.keys.updateCredits({ keyId, operation: "set", value: 2 });
    const kept = await show(keyId);
    await unkey.keys.updateCredits({ keyId, operation: "set", value: null });

    expect(kept.credits).toEqual({ remaining: 2, refill });
    expect((await show(keyId)).credits).toBeUndefined();
  });
});

describe("rerollKey", () => {
  it("makes a key that carries all of the old one, which ends at once", async () => {
    const old = await newKey({
      prefix: "my_own",
      name: "mine",
      permissions: ["a"],
      credits: { remaining: 3 },
      recoverable: true,
      ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
    });
    await verify(old.key);

    const { data: rerolled } = await unkey.keys.rerollKey({ keyId: old.keyId, expiration: 0 });

    expect(rerolled.key).toMatch(/^my_own_/);
    expect((await verify(old.key)).code).toBe("EXPIRED");
    expect(await verify(rerolled.key)).toMatchObject({
      code: "VALID",
      name: "mine",
      permissions: ["a"],
      credits: 1,
      ratelimits: [{ name: "requests", remaining: 9 }],
    });
    expect((await show(rerolled.keyId, true)).plaintext).toBe(rerolled.key);
  });

  it("lets the old key go on until the end of a minute", async () => {
    const { keyId, key } = await newKey();
    const beforeMs = Date.now();

    await unkey.keys.rerollKey({ keyId, expiration: 90_000 });

    const { expires = 0 } = await show(keyId);
    expect((await verify(key)).code).toBe("VALID");
    expect(expires % 60_000).toBe(0);
    expect(expires - beforeMs).toBeGreaterThanOrEqual(90_000);
  });

  it("never makes the old key live longer", async () => {
    const expires = Date.now() + 120_000;
    const { keyId } = await newKey({ expires });

    await unkey.keys.rerollKey({ keyId, expiration: 3_600_000 });

    expect((await show(keyId)).expires).toBe(expires);
  });
});

describe("deleteKey", () => {
  it.each([true, false])("ends a key at once (permanent: %s)", async (permanent) => {
    const { keyId, key } = await newKey({ permissions: ["a"], recoverable: true });
    await verify(key);

    await unkey.keys.deleteKey({ keyId, permanent });

    expect((await verify(key)).code).toBe("NOT_FOUND");
    await expect(show(keyId)).rejects.toThrow("does not exist");
    const left = await api.database.query("SELECT 1 FROM keys WHERE id = $1", [keyId]);
    expect(left.rowCount).toBe(permanent ? 0 : 1);
  });
});

describe("whoami", () => {
  it("shows a key by itself, also a disabled one, and spends nothing", async () => {
    const { keyId, key } = await newKey({ enabled: false, credits: { remaining: 1 } });

    const { data } = await unkey.keys.whoami({ key });

    expect(data).toMatchObject({ keyId, enabled: false, credits: { remaining: 1 } });
  });

  it("tells who may not read it that there is no such key", async () => {
    const { key } = await newKey();
    const rootKey = await api.createRootKey(workspace.id, ["api.*.verify_key"]);

    const { status, body } = await api.call("keys.whoami", { key }, rootKey);

    expect([status, body.error.type]).toEqual([404, expect.stringContaining("key_not_found")]);
  });
});

describe("migrateKeys", () => {
  it("takes over keys by their hashes, and tells which were there already", async () => {
    const migrationId = `migration_${workspace.id}`;
    await api.database.query("INSERT INTO key_migrations VALUES ($1, $2, 'sha256')", [
      migrationId,
      workspace.id,
    ]);
    const { createHash } = await import("node:crypto");
    const hashes = ["old_key_one", "old_key_two"].map((key) =>
      createHash("sha256").update(key).digest("hex"),
    );
    const keys = hashes.map((hash) => ({
      hash,
      enabled: true,
      roles: ["migrated"],
      externalId: "m",
    }));

    const first = await unkey.keys.migrateKeys({ migrationId, apiId, keys });
    const second = await unkey.keys.migrateKeys({ migrationId, apiId, keys });

    expect(first.data.migrated.map(({ hash }) => hash)).toEqual(hashes);
    expect(first.data.failed).toEqual([]);
    expect(second.data).toEqual({ migrated: [], failed: hashes });
    const used = await verify("old_key_one", { migrationId });
    expect(used).toMatchObject({ code: "VALID", roles: ["migrated"] });
  });

  it("finds a prefixed key by its long token, and afterwards without the migration", async () => {
    const migrationId = `seam_${workspace.id}`;
    await api.database.query(
      "INSERT INTO key_migrations VALUES ($1, $2, 'github.com/seamapi/prefixed-api-key')",
      [migrationId, workspace.id],
    );
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256").update("longtoken").digest("hex");
    await unkey.keys.migrateKeys({ migrationId, apiId, keys: [{ hash, enabled: true }] });
    const key = "corp_short_longtoken";

    const before = await verify(key);
    const adopting = await verify(key, { migrationId });
    const after = await verify(key);

    expect([before.code, adopting.code, after.code]).toEqual(["NOT_FOUND", "VALID", "VALID"]);
    expect((await show(after.keyId as string)).start).toBe("corp_short_long");
  });

  it("refuses a migration that is not known", async () => {
    const keys = [{ hash: "abc", enabled: true }];

    const refused = unkey.keys.migrateKeys({ migrationId: "nothing", apiId, keys });

    await expect(refused).rejects.toThrow("migration does not exist");
  });
});

it("writes who changed what, from where, for every change", async () => {
  const { keyId } = await newKey({ name: "audited" });
  await unkey.keys.updateKey({ keyId, enabled: false });
  await unkey.keys.deleteKey({ keyId });

  const { rows } = await api.database.query(
    `SELECT event, actor_type, remote_ip, request_id IS NOT NULL AS has_request, workspace_id
     FROM audit_log WHERE targets @> $1 ORDER BY time`,
    [JSON.stringify([{ type: "key", id: keyId }])],
  );

  const common = {
    actor_type: "key",
    remote_ip: "127.0.0.1",
    has_request: true,
    workspace_id: workspace.id,
  };
  expect(rows).toEqual(
    ["key.create", "key.update", "key.delete"].map((event) => ({ event, ...common })),
  );
});
