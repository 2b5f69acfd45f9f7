/** Changes of the same things at the same time. */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { createTenant, type Tenant } from "../../support/api/tenant.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

/** Each makes, links or deletes what others make, link or delete. */
const calls: [string, (tenant: Tenant) => unknown][] = [
  ["apis.createApi", () => ({ name: "one more" })],
  ["apis.listKeys", ({ apiId }) => ({ apiId, decrypt: true })],
  ["identities.createIdentity", ({ externalId }) => ({ externalId })],
  ["identities.updateIdentity", ({ externalId }) => ({ identity: externalId, ratelimits: limits })],
  ["identities.deleteIdentity", ({ externalId }) => ({ identity: externalId })],
  ["keys.createKey", (tenant) => newKey(tenant)],
  ["keys.createKey", (tenant) => newKey(tenant)],
  ["keys.updateKey", ({ keyId, ...tenant }) => ({ keyId, ...carried(tenant) })],
  ["keys.rerollKey", ({ keyId }) => ({ keyId, expiration: 60_000 })],
  ["keys.addRoles", ({ keyId, role }) => ({ keyId, roles: [role] })],
  ["keys.setPermissions", ({ keyId, slug }) => ({ keyId, permissions: ["b.c", slug, "a.b"] })],
  ["keys.removePermissions", ({ keyId, slug }) => ({ keyId, permissions: [slug] })],
  ["keys.migrateKeys", ({ apiId, migrationId }) => ({ apiId, migrationId, keys: migrated })],
  [
    "permissions.createRole",
    ({ role, slug }) => ({ name: role, permissions: ["a.b", slug, "b.c"] }),
  ],
  ["permissions.createRole", () => ({ name: "other", permissions: ["b.c", "a.b"] })],
  ["permissions.deleteRole", ({ role }) => ({ role })],
  ["permissions.deleteRole", () => ({ role: "other" })],
  [
    "permissions.setRolePermissions",
    ({ roleId, slug }) => ({ roleId, permissions: ["b.c", slug] }),
  ],
  ["permissions.setRolePermissions", ({ roleId }) => ({ roleId, permissions: ["a.b"] })],
  ["permissions.deletePermission", ({ slug }) => ({ permission: slug })],
  ["permissions.deletePermission", () => ({ permission: "a.b" })],
  ["permissions.deletePermission", () => ({ permission: "b.c" })],
];

const limits = ["aaa", "bbb"].map((name) => ({ name, limit: 1, duration: 1_000, autoApply: true }));

const migrated = ["one", "two", "three"].map((hash) => ({
  hash,
  externalId: "user_of_another",
  roles: ["other"],
  permissions: ["b.c", "a.b"],
}));

const carried = ({ externalId, role, slug }: Pick<Tenant, "externalId" | "role" | "slug">) => ({
  externalId,
  roles: [role],
  permissions: [slug, "a.b", "b.c"],
});

const newKey = (tenant: Tenant) => ({
  apiId: tenant.apiId,
  ...carried(tenant),
  ratelimits: limits,
});

it("are refused or made, and never end in a 5xx", { retry: 0 }, async () => {
  const tenant = await createTenant(api, "races");
  const order = fc.sample(fc.constantFrom(...calls), { seed: 1, numRuns: 1_200 });
  const failed: string[] = [];
  const worker = async () => {
    for (let next = order.pop(); next !== undefined; next = order.pop()) {
      const [procedure, body] = next;
      const answer = await api.call(procedure, body(tenant), tenant.rootKey);
      if (answer.status >= 500) failed.push(`${procedure} ${answer.body.error.detail}`);
    }
  };

  await Promise.all(Array.from({ length: 24 }, worker));

  expect(failed).toEqual([]);
});
