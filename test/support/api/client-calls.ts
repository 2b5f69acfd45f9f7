/** One call of each procedure as a user of the published client writes it. */
import type { Unkey } from "@unkey/api";
import type { Tenant } from "./tenant.ts";

export type ClientCall = {
  /** Calls the procedure; what is there is the tenant's. */
  call: (unkey: Unkey, tenant: Tenant) => Promise<unknown>;
  /** What the answer has at least, with patterns for texts; an iterator has it in `result`. */
  told?: object;
  /** The status of what is never answered otherwise. */
  refusal?: 412;
  /** Before the call. */
  before?: (unkey: Unkey, tenant: Tenant) => Promise<unknown>;
  /** The same with names that stand for nothing; absent: such a call is not answered 404. */
  lost?: (unkey: Unkey) => Promise<unknown>;
};

const nobody = "nobody_0000000000";
const minuteMs = 60_000;
/** So long that hardly a test meets the moment at which the next window begins. */
const windowMs = 86_400_000;
const calls = (namespace: string, identifier: string) => ({
  namespace,
  identifier,
  limit: 10,
  duration: windowMs,
});
const override = ({ namespace, identifier }: Tenant) => ({ namespace, identifier });
const setOverride = async (unkey: Unkey, tenant: Tenant) => {
  await unkey.ratelimit.limit(calls(tenant.namespace, tenant.identifier));
  await unkey.ratelimit.setOverride(calls(tenant.namespace, tenant.identifier));
};

const countOf = (table: string) => ({ query: `SELECT count() AS calls FROM ${table}` });

const analytics: Record<string, ClientCall> = {
  "analytics.getGatewayRequests": {
    call: (unkey) => unkey.analytics.getGatewayRequests(countOf("gateway_requests_v1")),
    refusal: 412,
  },
  "analytics.getRatelimits": {
    call: (unkey) => unkey.analytics.getRatelimits(countOf("ratelimits_v1")),
    told: { data: [{ calls: 0 }] },
  },
  "analytics.getRuntimeLogs": {
    call: (unkey) => unkey.analytics.getRuntimeLogs(countOf("runtime_logs_v1")),
    refusal: 412,
  },
  "analytics.getVerifications": {
    call: (unkey) => unkey.analytics.getVerifications(countOf("key_verifications_v1")),
    told: { data: [{ calls: 0 }] },
  },
};

const apis: Record<string, ClientCall> = {
  "apis.createApi": {
    call: (unkey) => unkey.apis.createApi({ name: "payments" }),
    told: { data: { apiId: /^api_/ } },
  },
  "apis.deleteApi": {
    call: (unkey, { apiId }) => unkey.apis.deleteApi({ apiId }),
    told: { data: {} },
    lost: (unkey) => unkey.apis.deleteApi({ apiId: nobody }),
  },
  "apis.getApi": {
    call: (unkey, { apiId }) => unkey.apis.getApi({ apiId }),
    told: { data: { name: /^api / } },
    lost: (unkey) => unkey.apis.getApi({ apiId: nobody }),
  },
  "apis.listKeys": {
    call: (unkey, { apiId }) => unkey.apis.listKeys({ apiId, decrypt: true }),
    told: { result: { data: [{ keyId: /^key_/, plaintext: /./, credits: { remaining: 1_000 } }] } },
    lost: (unkey) => unkey.apis.listKeys({ apiId: nobody }),
  },
};

const identities: Record<string, ClientCall> = {
  "identities.createIdentity": {
    call: (unkey) => unkey.identities.createIdentity({ externalId: "anna", meta: { plan: "pro" } }),
    told: { data: { identityId: /^id_/ } },
  },
  "identities.deleteIdentity": {
    call: (unkey, { externalId }) => unkey.identities.deleteIdentity({ identity: externalId }),
    told: { meta: { requestId: /^req_/ } },
    lost: (unkey) => unkey.identities.deleteIdentity({ identity: nobody }),
  },
  "identities.getIdentity": {
    call: (unkey, { externalId }) => unkey.identities.getIdentity({ identity: externalId }),
    told: { data: { externalId: /^user_/, ratelimits: [{ limit: 1e6, autoApply: true }] } },
    lost: (unkey) => unkey.identities.getIdentity({ identity: nobody }),
  },
  "identities.listIdentities": {
    call: (unkey) => unkey.identities.listIdentities({ limit: 1 }),
    told: { result: { data: [{ externalId: /^user_/ }], pagination: { hasMore: false } } },
  },
  "identities.updateIdentity": {
    call: (unkey, { externalId }) =>
      unkey.identities.updateIdentity({ identity: externalId, meta: { plan: "free" } }),
    told: { data: { meta: { plan: "free" } } },
    lost: (unkey) => unkey.identities.updateIdentity({ identity: nobody, meta: {} }),
  },
};

const keys: Record<string, ClientCall> = {
  "keys.addPermissions": {
    call: (unkey, { keyId }) => unkey.keys.addPermissions({ keyId, permissions: ["mail.send"] }),
    told: { data: [{ slug: /./ }, { slug: /./ }] },
    lost: (unkey) => unkey.keys.addPermissions({ keyId: nobody, permissions: ["mail.send"] }),
  },
  "keys.addRoles": {
    call: (unkey, { keyId, role }) => unkey.keys.addRoles({ keyId, roles: [role] }),
    told: { data: [{ name: /^role / }] },
    lost: (unkey) => unkey.keys.addRoles({ keyId: nobody, roles: ["a role"] }),
  },
  "keys.createKey": {
    call: (unkey, { apiId }) =>
      unkey.keys.createKey({
        apiId,
        prefix: "prod",
        byteLength: 24,
        name: "of anna",
        externalId: "anna",
        meta: { plan: "pro" },
        expires: Date.now() + minuteMs,
        credits: { remaining: 7, refill: { interval: "monthly", amount: 9, refillDay: 31 } },
        ratelimits: [{ name: "calls", limit: 5, duration: minuteMs, autoApply: true }],
        permissions: ["mail.send"],
        enabled: true,
        recoverable: true,
      }),
    told: { data: { keyId: /^key_/, key: /^prod_/ } },
    lost: (unkey) => unkey.keys.createKey({ apiId: nobody }),
  },
  "keys.deleteKey": {
    call: (unkey, { keyId }) => unkey.keys.deleteKey({ keyId, permanent: true }),
    told: { data: {} },
    lost: (unkey) => unkey.keys.deleteKey({ keyId: nobody }),
  },
  "keys.getKey": {
    call: (unkey, { keyId }) => unkey.keys.getKey({ keyId, decrypt: true }),
    told: { data: { plaintext: /./, identity: { externalId: /^user_/ }, roles: [/^role /] } },
    lost: (unkey) => unkey.keys.getKey({ keyId: nobody }),
  },
  "keys.migrateKeys": {
    call: (unkey, { migrationId, apiId }) =>
      unkey.keys.migrateKeys({ migrationId, apiId, keys: [{ hash: "f".repeat(64) }] }),
    told: { data: { migrated: [{ keyId: /^key_/ }], failed: [] } },
    lost: (unkey) =>
      unkey.keys.migrateKeys({
        migrationId: nobody,
        apiId: nobody,
        keys: [{ hash: "f".repeat(64) }],
      }),
  },
  "keys.removePermissions": {
    call: (unkey, { keyId, mark }) =>
      unkey.keys.removePermissions({ keyId, permissions: [`own.${mark}`] }),
    told: { data: [] },
    lost: (unkey) => unkey.keys.removePermissions({ keyId: nobody, permissions: ["mail.send"] }),
  },
  "keys.removeRoles": {
    call: (unkey, { keyId, role }) => unkey.keys.removeRoles({ keyId, roles: [role] }),
    told: { data: [] },
    lost: (unkey) => unkey.keys.removeRoles({ keyId: nobody, roles: ["a role"] }),
  },
  "keys.rerollKey": {
    call: (unkey, { keyId }) => unkey.keys.rerollKey({ keyId, expiration: 0 }),
    told: { data: { keyId: /^key_/, key: /./ } },
    lost: (unkey) => unkey.keys.rerollKey({ keyId: nobody, expiration: 0 }),
  },
  "keys.setPermissions": {
    call: (unkey, { keyId }) => unkey.keys.setPermissions({ keyId, permissions: ["mail.send"] }),
    told: { data: [{ slug: "mail.send" }] },
    lost: (unkey) => unkey.keys.setPermissions({ keyId: nobody, permissions: [] }),
  },
  "keys.setRoles": {
    call: (unkey, { keyId, role }) => unkey.keys.setRoles({ keyId, roles: [role] }),
    told: { data: [{ name: /^role / }] },
    lost: (unkey) => unkey.keys.setRoles({ keyId: nobody, roles: [] }),
  },
  "keys.updateCredits": {
    call: (unkey, { keyId }) =>
      unkey.keys.updateCredits({ keyId, operation: "decrement", value: 900 }),
    told: { data: { remaining: 100 } },
    lost: (unkey) => unkey.keys.updateCredits({ keyId: nobody, operation: "set", value: 1 }),
  },
  "keys.updateKey": {
    call: (unkey, { keyId }) => unkey.keys.updateKey({ keyId, name: null, enabled: false }),
    told: { data: {} },
    lost: (unkey) => unkey.keys.updateKey({ keyId: nobody, enabled: false }),
  },
  "keys.verifyKey": {
    call: (unkey, { key, slug }) =>
      unkey.keys.verifyKey({ key, permissions: slug, tags: ["a=b"], credits: { cost: 10 } }),
    told: { data: { valid: true, code: "VALID", credits: 990, ratelimits: [{ exceeded: false }] } },
  },
  "keys.whoami": {
    call: (unkey, { key }) => unkey.keys.whoami({ key }),
    told: { data: { keyId: /^key_/, enabled: true } },
    lost: (unkey) => unkey.keys.whoami({ key: nobody }),
  },
};

const permissions: Record<string, ClientCall> = {
  "permissions.createPermission": {
    call: (unkey) => unkey.permissions.createPermission({ name: "Send mail", slug: "mail.send" }),
    told: { data: { permissionId: /^perm_/ } },
  },
  "permissions.createRole": {
    call: (unkey, { slug }) =>
      unkey.permissions.createRole({ name: "postman", description: "a", permissions: [slug] }),
    told: { data: { roleId: /^role_/ } },
  },
  "permissions.deletePermission": {
    call: (unkey, { slug }) => unkey.permissions.deletePermission({ permission: slug }),
    told: { data: {} },
    lost: (unkey) => unkey.permissions.deletePermission({ permission: nobody }),
  },
  "permissions.deleteRole": {
    call: (unkey, { role }) => unkey.permissions.deleteRole({ role }),
    told: { data: {} },
    lost: (unkey) => unkey.permissions.deleteRole({ role: nobody }),
  },
  "permissions.getPermission": {
    call: (unkey, { permissionId }) =>
      unkey.permissions.getPermission({ permission: permissionId }),
    told: { data: { slug: /^docs\./ } },
    lost: (unkey) => unkey.permissions.getPermission({ permission: nobody }),
  },
  "permissions.getRole": {
    call: (unkey, { roleId }) => unkey.permissions.getRole({ role: roleId }),
    told: { data: { name: /^role /, permissions: [{ slug: /^docs\./ }] } },
    lost: (unkey) => unkey.permissions.getRole({ role: nobody }),
  },
  "permissions.listPermissions": {
    call: (unkey) => unkey.permissions.listPermissions({ limit: 1 }),
    told: { result: { data: [{ slug: /./ }], pagination: { hasMore: true, cursor: /./ } } },
  },
  "permissions.listRoles": {
    call: (unkey) => unkey.permissions.listRoles({}),
    told: { result: { data: [{ name: /^role / }], pagination: { hasMore: false } } },
  },
  "permissions.setRolePermissions": {
    call: (unkey, { roleId, mark }) =>
      unkey.permissions.setRolePermissions({ roleId, permissions: [`own.${mark}`] }),
    told: { data: [{ slug: /^own\./ }] },
    lost: (unkey) => unkey.permissions.setRolePermissions({ roleId: nobody, permissions: [] }),
  },
};

const ratelimit: Record<string, ClientCall> = {
  "ratelimit.deleteOverride": {
    before: setOverride,
    call: (unkey, tenant) => unkey.ratelimit.deleteOverride(override(tenant)),
    told: { data: {} },
    lost: (unkey) => unkey.ratelimit.deleteOverride({ namespace: nobody, identifier: "a" }),
  },
  "ratelimit.getOverride": {
    before: setOverride,
    call: (unkey, tenant) => unkey.ratelimit.getOverride(override(tenant)),
    told: { data: { limit: 10, duration: windowMs } },
    lost: (unkey) => unkey.ratelimit.getOverride({ namespace: nobody, identifier: "a" }),
  },
  "ratelimit.limit": {
    before: setOverride,
    call: (unkey, { namespace, identifier }) =>
      unkey.ratelimit.limit({ ...calls(namespace, identifier), limit: 1, cost: 9 }),
    told: { data: { success: true, limit: 10, remaining: 0, overrideId: /./ } },
  },
  "ratelimit.listOverrides": {
    before: setOverride,
    call: (unkey, { namespace }) => unkey.ratelimit.listOverrides({ namespace }),
    told: { result: { data: [{ limit: 10 }], pagination: { hasMore: false } } },
    lost: (unkey) => unkey.ratelimit.listOverrides({ namespace: nobody }),
  },
  "ratelimit.multiLimit": {
    call: (unkey, { namespace }) =>
      unkey.ratelimit.multiLimit([calls(namespace, "a"), { ...calls(namespace, "b"), limit: 1 }]),
    told: { data: { passed: true, limits: [{ remaining: 9 }, { remaining: 0 }] } },
  },
  "ratelimit.setOverride": {
    before: (unkey, { namespace }) => unkey.ratelimit.limit(calls(namespace, "a")),
    call: (unkey, { namespace }) =>
      unkey.ratelimit.setOverride({ ...calls(namespace, "a*"), limit: 0 }),
    told: { data: { overrideId: /./ } },
    lost: (unkey) => unkey.ratelimit.setOverride(calls(nobody, "a")),
  },
};

export const clientCalls: Record<string, ClientCall> = {
  ...analytics,
  ...apis,
  ...identities,
  ...keys,
  ...permissions,
  ...ratelimit,
};
