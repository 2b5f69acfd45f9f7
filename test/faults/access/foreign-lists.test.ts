/** Names and ids of another workspace in lists, names that both have, and grants and ids that reach too far. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashKey } from "#api/cache/key-record.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { createTenant, rowsOf, type Tenant } from "../../support/api/tenant.ts";

let api: TestApi;
let own: Tenant;
let victim: Tenant;
/** The id of the caller's root key. */
let rootKeyId: string;

const day = 86_400_000;
const daily = () => ({ namespace: victim.namespace, identifier: victim.identifier, duration: day });

beforeAll(async () => {
  api = await startTestApi();
  own = await createTenant(api, "ownx");
  victim = await createTenant(api, "victimx");
  await victim.ask("ratelimit.limit", { ...daily(), limit: 3 });
  await victim.ask("ratelimit.setOverride", { ...daily(), identifier: "x*", limit: 3 });
  const { rows } = await api.database.query("SELECT id FROM keys WHERE hash = $1", [
    hashKey(own.rootKey),
  ]);
  rootKeyId = rows[0].id;
});

afterAll(() => api?.stop());

const newHash = () => randomBytes(32).toString("hex");
const migrate = (...keys: object[]) => ({
  ...{ apiId: own.apiId, migrationId: own.migrationId, keys },
});
const theirLimit = () => [
  { name: `limit_${victim.mark}`, limit: 1, duration: 1_000, autoApply: true },
];

/** A procedure, its body and the status of the answer. */
type Shot = [procedure: string, body: () => object, status?: number];

const ofKey = () => ({ keyId: own.keyId });
const roles = () => [own.role, victim.role, victim.roleId];
const slugs = () => [own.slug, victim.slug, victim.permissionId];
const ofRoot = () => ({ keyId: rootKeyId });

/** In this order: what the later ones take away, the earlier ones have made under the other's names. */
const shots: Shot[] = [
  ["keys.migrateKeys", () => migrate({ hash: hashKey(victim.key) })],
  ["keys.migrateKeys", () => migrate({ hash: hashKey(victim.rootKey), enabled: false })],
  ["keys.migrateKeys", () => migrate({ hash: newHash(), roles: roles(), permissions: slugs() })],
  [
    "keys.migrateKeys",
    () => migrate({ hash: newHash(), externalId: victim.externalId, ratelimits: theirLimit() }),
  ],
  ["keys.setRoles", () => ({ ...ofKey(), roles: roles() })],
  ["keys.setPermissions", () => ({ ...ofKey(), permissions: slugs() })],
  ["keys.removePermissions", () => ({ ...ofKey(), permissions: slugs() })],
  ["permissions.setRolePermissions", () => ({ roleId: own.roleId, permissions: slugs() })],
  ["ratelimit.multiLimit", () => [{ ...daily(), limit: 99, cost: 5 }]],
  ["ratelimit.setOverride", () => ({ ...daily(), identifier: "*", limit: 0 })],
  [
    "identities.createIdentity",
    () => ({ externalId: victim.identityId, ratelimits: theirLimit() }),
  ],
  ["identities.deleteIdentity", () => ({ identity: victim.identityId })],
  ["permissions.deletePermission", () => ({ permission: victim.slug })],
  ["permissions.deleteRole", () => ({ role: victim.role })],
  ["keys.getKey", () => ({ keyId: victim.keyId.toUpperCase() }), 404],
  ["keys.getKey", () => ({ keyId: [victim.keyId] }), 400],
  ["ratelimit.listOverrides", () => ({ namespace: `${victim.id}/${victim.namespace}` }), 404],
  ["keys.verifyKey", () => ({ key: victim.key, credits: { cost: 500 } })],
  ["keys.verifyKey", () => ({ key: own.rootKey })],
  ["keys.whoami", () => ({ key: own.rootKey }), 404],
  ["keys.getKey", () => ({ ...ofRoot(), decrypt: true }), 404],
  ["keys.updateKey", () => ({ ...ofRoot(), expires: null }), 404],
  ["keys.setPermissions", () => ({ ...ofRoot(), permissions: ["*"] }), 404],
  ["keys.rerollKey", () => ({ ...ofRoot(), expiration: 0 }), 404],
  ["keys.deleteKey", () => ({ ...ofRoot(), permanent: true }), 404],
  ["keys.createKey", () => ({ apiId: "ks_root" }), 404],
];

describe("a call with what is another's", () => {
  it.each(shots)("%s changes nothing of it: %s", async (procedure, body, status = 200) => {
    const before = [await rowsOf(api, victim.id), await rowsOf(api, "ws_operator")];

    const answer = await api.call(procedure, body(), own.rootKey);

    expect(answer.status).toBe(status);
    expect(answer.body.data?.valid).not.toBe(true);
    expect([await rowsOf(api, victim.id), await rowsOf(api, "ws_operator")]).toEqual(before);
  });

  it.each<[string, () => string[]]>([
    ["its API", () => [`api.${victim.apiId}.verify_key`, `api.${victim.apiId}.read_key`]],
    ["its workspace", () => [`unkey:v1:${victim.id}:**#*`]],
    ["all workspaces", () => ["unkey:v1:*:**#*", "*"]],
  ])("does not reach it either by grants for %s", async (_, grants) => {
    const rootKey = await api.createRootKey(own.id, grants());

    const verified = await api.call("keys.verifyKey", { key: victim.key }, rootKey);
    const read = await api.call("keys.getKey", { keyId: victim.keyId, decrypt: true }, rootKey);

    expect(verified.body.data).toEqual({ valid: false, code: "NOT_FOUND" });
    expect(read.status).toBe(404);
  });

  it("leaves the other's limits, credits and permissions as they were", async () => {
    const verified = await victim.ask("keys.verifyKey", {
      ...{ key: victim.key, permissions: victim.slug },
    });
    const limited = await victim.ask("ratelimit.limit", { ...daily(), limit: 3 });

    expect(verified).toMatchObject({ code: "VALID", credits: 999 });
    expect(verified.ratelimits[0].remaining).toBe(1e6 - 1);
    expect(limited.remaining).toBe(1);
  });
});

describe("a root key for one API", () => {
  const acts = ["read", "decrypt", "create", "update", "delete", "verify", "encrypt"];
  it.each<[string, () => unknown]>([
    ["apis.listKeys", () => ({ apiId: own.apiId, decrypt: true })],
    ["keys.createKey", () => ({ apiId: own.apiId })],
    ["keys.getKey", () => ({ ...ofKey(), decrypt: true })],
    ["keys.updateKey", () => ({ ...ofKey(), enabled: false })],
    ["keys.rerollKey", () => ({ ...ofKey(), expiration: 0 })],
    ["keys.updateCredits", () => ({ ...ofKey(), operation: "set", value: 1 })],
    ["keys.setRoles", () => ({ ...ofKey(), roles: [] })],
    ["keys.addPermissions", () => ({ ...ofKey(), permissions: ["other"] })],
    ["keys.deleteKey", ofKey],
    ["keys.whoami", () => ({ key: own.key })],
    ["keys.migrateKeys", () => migrate({ hash: newHash() })],
  ])("does nothing to another API's keys by %s", async (procedure, body) => {
    const { apiId } = await own.ask("apis.createApi", { name: "other" });
    const rootKey = await api.createRootKey(
      own.id,
      acts.map((act) => `api.${apiId}.${act}_key`),
    );
    const before = await rowsOf(api, own.id);

    const { status } = await api.call(procedure, body(), rootKey);

    expect([403, 404]).toContain(status);
    expect(await rowsOf(api, own.id)).toEqual(before);
  });
});

it("a batch of limits with one that the root key may not count counts none of them", async () => {
  const limit = (namespace: string) => ({
    ...{ namespace, identifier: "batched", limit: 10, duration: day },
  });
  for (const name of ["open", "closed"]) await own.ask("ratelimit.limit", limit(name));
  const { rows } = await api.database.query(
    "SELECT id FROM ratelimit_namespaces WHERE workspace_id = $1 AND name = 'open'",
    [own.id],
  );
  const rootKey = await api.createRootKey(own.id, [`ratelimit.${rows[0].id}.limit`]);
  const count = (...names: string[]) =>
    api.call("ratelimit.multiLimit", names.map(limit), rootKey).then(({ status }) => status);

  const statuses = [await count("open", "closed"), await count("open", "new"), await count("open")];

  expect(statuses).toEqual([403, 403, 200]);
  expect((await own.ask("ratelimit.limit", { ...limit("open"), cost: 0 })).remaining).toBe(8);
  expect((await own.ask("ratelimit.limit", { ...limit("closed"), cost: 0 })).remaining).toBe(9);
});
