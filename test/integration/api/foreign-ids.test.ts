/** Ids of one workspace in calls by the root key of another: like ids of nothing, also beside ids of its own. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { newId } from "#api/ids.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { servedProcedures } from "../../support/api/served-procedures.ts";
import { createTenant, rowsOf, type Tenant } from "../../support/api/tenant.ts";

let api: TestApi;
let attacker: Tenant;
let victim: Tenant & { namespaceId: string };
let made = 0;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

beforeEach(async () => {
  made += 1;
  attacker = await createTenant(api, `attacker${made}x`);
  const tenant = await createTenant(api, `victim${made}x`);
  const { namespace, identifier } = tenant;
  await tenant.ask("ratelimit.limit", { namespace, identifier, limit: 9, duration: 60_000 });
  await tenant.ask("ratelimit.setOverride", { namespace, identifier, limit: 3, duration: 60_000 });
  const { rows } = await api.database.query<{ id: string }>(
    "SELECT id FROM ratelimit_namespaces WHERE workspace_id = $1",
    [tenant.id],
  );
  victim = { ...tenant, namespaceId: rows[0]?.id ?? "" };
});

type Ids = Pick<
  typeof victim,
  "apiId" | "keyId" | "identityId" | "roleId" | "permissionId" | "namespaceId" | "migrationId"
>;

/** Ids as the victim's are, of nothing. */
const nothing = (): Ids => ({
  apiId: newId("api"),
  keyId: newId("key"),
  identityId: newId("identity"),
  roleId: newId("role"),
  permissionId: newId("permission"),
  namespaceId: newId("ratelimitNamespace"),
  migrationId: "migration_of_nobody",
});

const hash = "e".repeat(64);
const pattern = (of: Ids) => ({ namespace: of.namespaceId, identifier: "*" });

/** By procedure, or by procedure and what is foreign in it: `of` is the victim's, `own` the attacker's. */
const bodies: Record<string, (of: Ids, own: Tenant) => unknown> = {
  "apis.deleteApi": ({ apiId }) => ({ apiId }),
  "apis.getApi": ({ apiId }) => ({ apiId }),
  "apis.listKeys": ({ apiId }) => ({ apiId, decrypt: true }),
  "apis.listKeys of an identity": ({ identityId }, { apiId }) => ({
    apiId,
    externalId: identityId,
  }),
  "identities.deleteIdentity": ({ identityId }) => ({ identity: identityId }),
  "identities.getIdentity": ({ identityId }) => ({ identity: identityId }),
  "identities.updateIdentity": ({ identityId }) => ({ identity: identityId, meta: {} }),
  "keys.addPermissions": ({ keyId }, { slug }) => ({ keyId, permissions: [slug] }),
  "keys.addRoles": ({ keyId }, { role }) => ({ keyId, roles: [role] }),
  "keys.addRoles of a role": ({ roleId }, { keyId }) => ({ keyId, roles: [roleId] }),
  "keys.createKey": ({ apiId }) => ({ apiId }),
  "keys.createKey of a role": ({ roleId }, { apiId }) => ({ apiId, roles: [roleId] }),
  "keys.deleteKey": ({ keyId }) => ({ keyId, permanent: true }),
  "keys.getKey": ({ keyId }) => ({ keyId, decrypt: true }),
  "keys.migrateKeys": ({ apiId }, { migrationId }) => ({ apiId, migrationId, keys: [{ hash }] }),
  "keys.migrateKeys of a migration": ({ migrationId }, { apiId }) => ({
    ...{ apiId, migrationId, keys: [{ hash }] },
  }),
  "keys.removePermissions": ({ keyId }, { slug }) => ({ keyId, permissions: [slug] }),
  "keys.removeRoles": ({ keyId }, { role }) => ({ keyId, roles: [role] }),
  "keys.removeRoles of a role": ({ roleId }, { keyId }) => ({ keyId, roles: [roleId] }),
  "keys.rerollKey": ({ keyId }) => ({ keyId, expiration: 0 }),
  "keys.setPermissions": ({ keyId }, { slug }) => ({ keyId, permissions: [slug] }),
  "keys.setRoles": ({ keyId }, { role }) => ({ keyId, roles: [role] }),
  "keys.setRoles of a role": ({ roleId }, { keyId }) => ({ keyId, roles: [roleId] }),
  "keys.updateCredits": ({ keyId }) => ({ keyId, operation: "set", value: 0 }),
  "keys.updateKey": ({ keyId }, own) => ({ keyId, externalId: own.externalId, enabled: false }),
  "keys.updateKey of a role": ({ roleId }, { keyId }) => ({ keyId, roles: [roleId] }),
  "permissions.createRole of a permission": ({ permissionId }) => ({
    ...{ name: `with ${permissionId}`, permissions: [permissionId] },
  }),
  "permissions.deletePermission": ({ permissionId }) => ({ permission: permissionId }),
  "permissions.deleteRole": ({ roleId }) => ({ role: roleId }),
  "permissions.getPermission": ({ permissionId }) => ({ permission: permissionId }),
  "permissions.getRole": ({ roleId }) => ({ role: roleId }),
  "permissions.setRolePermissions": ({ roleId }, { slug }) => ({ roleId, permissions: [slug] }),
  "ratelimit.deleteOverride": pattern,
  "ratelimit.getOverride": pattern,
  "ratelimit.listOverrides": ({ namespaceId }) => ({ namespace: namespaceId }),
  "ratelimit.setOverride": (of) => ({ ...pattern(of), limit: 0, duration: 1_000 }),
};

/** Those whose bodies name nothing that has an id, and those that find keys by their text. */
const withoutIds =
  /^(?:analytics\.|apis\.createApi|identities\.(?:create|list)|keys\.(?:verifyKey|whoami)|permissions\.(?:createPermission|list)|ratelimit\.(?:limit|multiLimit))/;

it("every procedure that takes an id is tried", () => {
  const tried = new Set(Object.keys(bodies).map((name) => name.split(" ")[0]));
  const names = servedProcedures.map(([name]) => name).filter((name) => !withoutIds.test(name));

  expect(names.filter((name) => !tried.has(name))).toEqual([]);
});

const call = async (name: string, of: Ids) => {
  const body = bodies[name]?.(of, attacker);
  const answer = await api.call(name.split(" ")[0] ?? "", body, attacker.rootKey);
  const told = JSON.stringify({ ...answer.body, meta: {} });
  const ids = Object.values(of).filter((id) => typeof id === "string");
  return { status: answer.status, told: ids.reduce((text, id) => text.replaceAll(id, "ID"), told) };
};

it.each(Object.keys(bodies))(
  "%s answers a foreign id as it answers one of nothing",
  async (name) => {
    const before = await rowsOf(api, victim.id);
    const ids = Object.fromEntries(
      Object.keys(nothing()).map((id) => [id, victim[id as keyof Ids]]),
    );

    const foreign = await call(name, ids as Ids);
    const missing = await call(name, nothing());

    expect(foreign.told.includes(`victim${made}x`)).toBe(false);
    expect(await rowsOf(api, victim.id)).toEqual(before);
    expect(foreign.status).toBe(missing.status);
    if (foreign.status !== 200) expect(foreign).toEqual(missing);
  },
);

/** What takes no ids, by the caller's own names. */
const others: Record<string, (own: Tenant) => unknown> = {
  "analytics.getGatewayRequests": () => ({ query: "SELECT count() FROM gateway_requests_v1" }),
  "analytics.getRatelimits": () => ({ query: "SELECT count() FROM ratelimits_v1" }),
  "analytics.getRuntimeLogs": () => ({ query: "SELECT count() FROM runtime_logs_v1" }),
  "analytics.getVerifications": () => ({ query: "SELECT count() FROM key_verifications_v1" }),
  "apis.createApi": () => ({ name: "another" }),
  "identities.createIdentity": () => ({ externalId: "another" }),
  "identities.listIdentities": () => ({}),
  "keys.whoami": ({ key }) => ({ key }),
  "permissions.createPermission": () => ({ name: "another", slug: "another" }),
  "permissions.createRole": () => ({ name: "another" }),
  "permissions.listPermissions": () => ({}),
  "permissions.listRoles": () => ({}),
  "ratelimit.limit": () => ({ namespace: "another", identifier: "a", limit: 1, duration: 60_000 }),
  "ratelimit.multiLimit": () => [
    { namespace: "another", identifier: "a", limit: 1, duration: 60_000 },
  ],
};

it("a root key that only verifies, as those of checks do, does nothing else with what is its own", async () => {
  const rootKey = await api.createRootKey(attacker.id, ["api.*.verify_key"]);
  const own = { ...attacker, namespaceId: attacker.namespace };
  const before = await rowsOf(api, attacker.id);
  const found: Record<string, number> = {};
  for (const [name] of servedProcedures) {
    const body = others[name]?.(attacker) ?? bodies[name]?.(own, attacker);
    if (body !== undefined) found[name] = (await api.call(name, body, rootKey)).status;
  }
  const verified = await api.call("keys.verifyKey", { key: attacker.key }, rootKey);

  const tried = servedProcedures.filter(([name]) => name !== "keys.verifyKey");
  expect(Object.keys(found)).toHaveLength(tried.length);
  expect(Object.entries(found).filter(([, status]) => ![403, 404, 412].includes(status))).toEqual(
    [],
  );
  expect(verified.body.data.code).toBe("VALID");
  const after = await rowsOf(api, attacker.id);
  expect({ ...after, keys: [] }).toEqual({ ...before, keys: [] });
  expect(after["keys"]).toHaveLength(before["keys"]?.length ?? 0);
});

it("a namespace that is called as a foreign one's id is a namespace of its own", async () => {
  const limit = { namespace: victim.namespaceId, identifier: victim.identifier, limit: 9 };
  const { body } = await api.call(
    "ratelimit.limit",
    { ...limit, duration: 60_000 },
    attacker.rootKey,
  );

  expect(body.data).toMatchObject({ success: true, remaining: 8 });
  expect(body.data.overrideId).toBeUndefined();
});

it("a page that goes on at a foreign id has rows of the caller alone", async () => {
  const cursors = { cursor: victim.keyId.replace(/_.*/, "_") };
  const answers = await Promise.all([
    api.call("apis.listKeys", { apiId: attacker.apiId, ...cursors }, attacker.rootKey),
    api.call("identities.listIdentities", { cursor: victim.identityId }, attacker.rootKey),
    api.call("permissions.listRoles", { cursor: victim.roleId }, attacker.rootKey),
    api.call("permissions.listPermissions", { cursor: victim.permissionId }, attacker.rootKey),
  ]);

  for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(`victim${made}x`);
});
