/** A second workspace neither sees nor changes anything of the first, through any procedure. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RecordedTable } from "#api/analytics/batch.ts";
import { startTestAnalytics, type TestAnalytics } from "../../support/api/analytics.ts";
import { encodeBatch, ratelimitRow, verificationRow } from "../../support/api/analytics-rows.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { procedureNames } from "../../support/api/api-contract.ts";
import { servedProcedures } from "../../support/api/served-procedures.ts";
import { createTenant, rowsOf, type Tenant } from "../../support/api/tenant.ts";

let analytics: TestAnalytics;
let api: TestApi;
let stranger: { id: string; rootKey: string };
let made = 0;

beforeAll(async () => {
  analytics = await startTestAnalytics();
  api = await startTestApi({ analytics });
});

afterAll(async () => {
  await api?.stop();
  await analytics?.stop();
});

/** Seen from outside: not there, or an answer about the stranger's own workspace alone. */
type Outcome = 404 | "empty" | "own" | "NOT_FOUND" | 412;

type Attempt = {
  /** Asks for what the owner has. */
  body: (owner: Tenant) => unknown;
  seen: Outcome;
  /** What the owner gets for the same; 200 unless it says otherwise. */
  ownerStatus?: number;
  before?: (owner: Tenant) => Promise<unknown>;
};

const keyOf = ({ keyId }: Tenant) => ({ keyId });
const override = ({ namespace, identifier }: Tenant) => ({ namespace, identifier });
const limit = (owner: Tenant) => ({ ...override(owner), limit: 3, duration: 60_000 });
const takeOnce = (owner: Tenant) => owner.ask("ratelimit.limit", limit(owner));
const setOverride = async (owner: Tenant) => {
  await takeOnce(owner);
  await owner.ask("ratelimit.setOverride", limit(owner));
};
const recorded = async (table: RecordedTable, row: object) =>
  analytics.store.insert(encodeBatch(table, [row]), new AbortController().signal);
const everything = { query: "SELECT * FROM key_verifications_v1" };

/** One for each procedure of the API. */
const attempts: Record<string, Attempt> = {
  "analytics.getGatewayRequests": { body: () => everything, seen: 412, ownerStatus: 412 },
  "analytics.getRatelimits": {
    body: () => ({ query: "SELECT * FROM ratelimits_v1" }),
    seen: "empty",
    before: ({ id: workspace_id }) => recorded("ratelimits_v1", ratelimitRow({ workspace_id })),
  },
  "analytics.getRuntimeLogs": { body: () => everything, seen: 412, ownerStatus: 412 },
  "analytics.getVerifications": {
    body: () => everything,
    seen: "empty",
    before: ({ id: workspace_id }) =>
      recorded("key_verifications_v1", verificationRow({ workspace_id })),
  },
  "apis.createApi": { body: ({ mark }) => ({ name: `api ${mark}` }), seen: "own" },
  "apis.deleteApi": { body: ({ apiId }) => ({ apiId }), seen: 404 },
  "apis.getApi": { body: ({ apiId }) => ({ apiId }), seen: 404 },
  "apis.listKeys": { body: ({ apiId }) => ({ apiId }), seen: 404 },
  "identities.createIdentity": {
    body: ({ externalId }) => ({ externalId }),
    seen: "own",
    ownerStatus: 409,
  },
  "identities.deleteIdentity": { body: ({ identityId: identity }) => ({ identity }), seen: 404 },
  "identities.getIdentity": { body: ({ externalId: identity }) => ({ identity }), seen: 404 },
  "identities.listIdentities": {
    body: ({ identityId: cursor }) => ({ cursor }),
    seen: "empty",
  },
  "identities.updateIdentity": {
    body: ({ externalId: identity }) => ({ identity, meta: { a: 1 }, ratelimits: [] }),
    seen: 404,
  },
  "keys.addPermissions": {
    body: (owner) => ({ ...keyOf(owner), permissions: [owner.slug] }),
    seen: 404,
  },
  "keys.addRoles": { body: (owner) => ({ ...keyOf(owner), roles: [owner.role] }), seen: 404 },
  "keys.createKey": { body: ({ apiId }) => ({ apiId }), seen: 404 },
  "keys.deleteKey": { body: keyOf, seen: 404 },
  "keys.getKey": { body: (owner) => ({ ...keyOf(owner), decrypt: true }), seen: 404 },
  "keys.migrateKeys": {
    body: ({ apiId, migrationId }) => ({ apiId, migrationId, keys: [{ hash: "f".repeat(64) }] }),
    seen: 404,
  },
  "keys.removePermissions": {
    body: (owner) => ({ ...keyOf(owner), permissions: [owner.slug] }),
    seen: 404,
  },
  "keys.removeRoles": { body: (owner) => ({ ...keyOf(owner), roles: [owner.role] }), seen: 404 },
  "keys.rerollKey": { body: (owner) => ({ ...keyOf(owner), expiration: 0 }), seen: 404 },
  "keys.setPermissions": { body: (owner) => ({ ...keyOf(owner), permissions: [] }), seen: 404 },
  "keys.setRoles": { body: (owner) => ({ ...keyOf(owner), roles: [] }), seen: 404 },
  "keys.updateCredits": {
    body: (owner) => ({ ...keyOf(owner), operation: "set", value: 1 }),
    seen: 404,
  },
  "keys.updateKey": { body: (owner) => ({ ...keyOf(owner), enabled: false }), seen: 404 },
  "keys.verifyKey": { body: ({ key }) => ({ key }), seen: "NOT_FOUND" },
  "keys.whoami": { body: ({ key }) => ({ key }), seen: 404 },
  "permissions.createPermission": {
    body: ({ slug }) => ({ name: slug, slug }),
    seen: "own",
    ownerStatus: 409,
  },
  "permissions.createRole": {
    body: ({ role: name, slug }) => ({ name, permissions: [slug] }),
    seen: "own",
    ownerStatus: 409,
  },
  "permissions.deletePermission": { body: ({ slug: permission }) => ({ permission }), seen: 404 },
  "permissions.deleteRole": { body: ({ roleId: role }) => ({ role }), seen: 404 },
  "permissions.getPermission": {
    body: ({ permissionId: permission }) => ({ permission }),
    seen: 404,
  },
  "permissions.getRole": { body: ({ role }) => ({ role }), seen: 404 },
  "permissions.listPermissions": { body: ({ mark: search }) => ({ search }), seen: "empty" },
  "permissions.listRoles": { body: ({ roleId: cursor }) => ({ cursor }), seen: "empty" },
  "permissions.setRolePermissions": {
    body: ({ roleId }) => ({ roleId, permissions: [] }),
    seen: 404,
  },
  "ratelimit.deleteOverride": { body: override, seen: 404, before: setOverride },
  "ratelimit.getOverride": { body: override, seen: 404, before: setOverride },
  "ratelimit.limit": { body: limit, seen: "own", before: takeOnce },
  "ratelimit.listOverrides": {
    body: ({ namespace }) => ({ namespace }),
    seen: 404,
    before: setOverride,
  },
  "ratelimit.multiLimit": {
    body: (owner) => [limit(owner)],
    seen: "own",
    before: takeOnce,
  },
  "ratelimit.setOverride": { body: limit, seen: 404, before: setOverride },
};

it("every procedure of the contract is attempted", () => {
  expect(Object.keys(attempts).toSorted()).toEqual(procedureNames.toSorted());
});

describe.each(servedProcedures)("%s", (procedure) => {
  const attempt = attempts[procedure] as Attempt;

  it("neither shows nor changes anything of another workspace", async () => {
    const owner = await newOwner();
    await attempt.before?.(owner);
    const body = attempt.body(owner);
    const before = await rowsOf(api, owner.id);

    const answer = await api.call(procedure, body, stranger.rootKey);

    expect(outcomeOf(answer)).toBe(attempt.seen);
    expect(leaks(answer.body, owner, body)).toEqual([]);
    expect(await rowsOf(api, owner.id)).toEqual(before);
  });

  it("answers the owner", async () => {
    const owner = await newOwner();
    await attempt.before?.(owner);

    const { status, body } = await api.call(procedure, attempt.body(owner), owner.rootKey);

    expect(status).toBe(attempt.ownerStatus ?? 200);
    if (attempt.seen === "empty") expect(body.data).not.toEqual([]);
    if (attempt.seen === "NOT_FOUND") expect(body.data.code).toBe("VALID");
  });
});

it.runIf(servedProcedures.some(([name]) => name === "ratelimit.limit"))(
  "a limit is counted for each workspace by itself, also under the same names",
  async () => {
    const owner = await newOwner();
    for (let calls = 0; calls < 3; calls += 1) await takeOnce(owner);

    const { body } = await api.call("ratelimit.limit", limit(owner), stranger.rootKey);

    expect(body.data).toMatchObject({ success: true, remaining: 2 });
    expect(await takeOnce(owner)).toMatchObject({ success: false });
  },
);

/** The stranger is new each time too, so that what it made before is not in the way. */
async function newOwner(): Promise<Tenant> {
  made += 1;
  stranger = await api.createWorkspace();
  return createTenant(api, `mark${made}x`);
}

function outcomeOf({ status, body }: Awaited<ReturnType<TestApi["call"]>>): unknown {
  if (status !== 200) return status;
  if (body.data?.code !== undefined) return body.data.code;
  return Array.isArray(body.data) && body.data.length === 0 ? "empty" : "own";
}

/** What an answer tells of the owner that was not in the question. */
function leaks(answer: unknown, owner: Tenant, question: unknown): string[] {
  const { ask: _, ...secrets } = owner;
  const asked = JSON.stringify(question);
  const told = JSON.stringify(answer);
  return Object.values(secrets).filter(
    (secret) => told.includes(secret) && !asked.includes(secret),
  );
}
