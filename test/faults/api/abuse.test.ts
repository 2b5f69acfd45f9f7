/** What a caller with a good root key may try, against the server and so against everyone else. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { createTenant, type Tenant } from "../../support/api/tenant.ts";

let api: TestApi;
let tenant: Tenant;
let made = 0;

const call = (procedure: string, body: unknown) => api.call(procedure, body, tenant.rootKey);

beforeAll(async () => {
  api = await startTestApi();
});

beforeEach(async () => {
  made += 1;
  tenant = await createTenant(api, `mark${made}x`);
});

afterAll(() => api?.stop());

const slugs = (count: number) => Array.from({ length: count }, (_, n) => `slug.${n}`);

describe("keys.migrateKeys", () => {
  const migrate = (keys: object[]) => {
    const { migrationId, apiId } = tenant;
    return call("keys.migrateKeys", { migrationId, apiId, keys });
  };
  const hash = (bytes = 32) => randomBytes(bytes).toString("hex");

  it("refuses a hash that no index holds", async () => {
    const { status, body } = await migrate([{ hash: hash(20_000) }]);

    expect(status).toBe(400);
    expect(body.error.detail).toContain("512 characters");
  });

  it("refuses more than one transaction should write", async () => {
    const keys = Array.from({ length: 60 }, () => ({ hash: hash(), permissions: slugs(1_000) }));

    const { status, body } = await migrate(keys);

    expect(status).toBe(400);
    expect(body.error.detail).toContain("Please send them in several.");
  });
});

describe("what a key is given", () => {
  it("is 1,000 permissions at most, however often it is given some", async () => {
    const { keyId } = tenant;
    await call("keys.setPermissions", { keyId, permissions: slugs(1_000) });

    const { status, body } = await call("keys.addPermissions", { keyId, permissions: ["more"] });
    const known = await call("keys.addPermissions", { keyId, permissions: ["slug.1", "slug.2"] });

    expect(status).toBe(400);
    expect(body.error.detail).toBe(
      "A key can have at most 1000 permissions. Please remove some first.",
    );
    expect(known.status).toBe(200);
    expect(known.body.data.length).toBe(1_000);
  });

  const createRoles = async (count: number, permissions: string[] = []) => {
    const names = Array.from({ length: count }, (_, n) => `role ${n + 100}`);
    for (const name of names) await call("permissions.createRole", { name, permissions });
    return names;
  };

  it("is 200 roles at most, however often it is given some", async () => {
    const { keyId } = tenant;
    const names = await createRoles(201);
    await call("keys.setRoles", { keyId, roles: names.slice(0, 100) });
    await call("keys.addRoles", { keyId, roles: names.slice(100, 200) });

    const { status, body } = await call("keys.addRoles", { keyId, roles: names.slice(200) });

    expect(status).toBe(400);
    expect(body.error.detail).toBe("A key can have at most 200 roles. Please remove some first.");
  });

  it("is answered with the permissions of so many roles as an answer may hold", async () => {
    const { keyId } = tenant;
    const permissions = Array.from({ length: 1_000 }, (_, n) => `${"p".repeat(110)}.${n}`);
    const roles = await createRoles(20, permissions);

    const { body } = await call("keys.setRoles", { keyId, roles });

    const counts = body.data.map((role: { permissions?: [] }) => role.permissions?.length ?? 0);
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(roles);
    expect(counts.slice(0, 10)).toEqual(new Array(10).fill(1_000));
    expect(counts.at(-1)).toBe(0);
    expect(JSON.stringify(body).length).toBeLessThan(5 * 1024 * 1024);
  });

  it("is 20,000 permissions by its roles at most, whether it or a role is given more", async () => {
    const { keyId } = tenant;
    const permissions = Array.from({ length: 1_000 }, (_, n) => `of.roles.${n}`);
    const roles = await createRoles(21, permissions);
    const few = await call("permissions.createRole", { name: "few", permissions: [] });
    await call("keys.setRoles", { keyId, roles: [...roles.slice(0, 20), "few"] });

    const added = await call("keys.addRoles", { keyId, roles: roles.slice(20) });
    const grown = await call("permissions.setRolePermissions", {
      roleId: few.body.data.roleId,
      permissions: ["of.roles.1"],
    });

    expect([added.status, grown.status]).toEqual([400, 400]);
    expect(added.body.error.detail).toBe("A key can have at most 20000 permissions by its roles.");
  });
});

describe("ratelimit.setOverride", () => {
  const set = (identifier: string) => {
    const { namespace } = tenant;
    return call("ratelimit.setOverride", { namespace, identifier, limit: 1, duration: 60_000 });
  };

  beforeEach(async () => {
    const { namespace, identifier } = tenant;
    await call("ratelimit.limit", { namespace, identifier, limit: 1, duration: 60_000 });
  });

  const insert = (identifiers: string[]) =>
    api.database.query(
      `INSERT INTO ratelimit_overrides (id, workspace_id, namespace_id, identifier, "limit", duration_ms)
       SELECT md5($1 || i), $1, n.id, i, 1, 60000
       FROM ratelimit_namespaces n, unnest($2::text[]) AS i WHERE n.workspace_id = $1`,
      [tenant.id, identifiers],
    );

  it("refuses a pattern of more than ten stars", async () => {
    const { status, body } = await set("*a".repeat(11));

    expect(status).toBe(400);
    expect(body.error.detail).toBe("A pattern may have at most 10 `*`.");
    expect((await set("*a".repeat(10))).status).toBe(200);
  });

  it("refuses the 1,001st pattern of a namespace, and takes identifiers and changes", async () => {
    await insert(Array.from({ length: 1_000 }, (_, n) => `pattern-${n}-*`));

    const { status, body } = await set("another-*");

    expect(status).toBe(400);
    expect(body.error.detail).toContain("at most 1000 overrides with `*`");
    expect((await set("another")).status).toBe(200);
    expect((await set("pattern-7-*")).status).toBe(200);
  });

  it.each([
    ["the 10,001st override of a namespace", Array.from({ length: 10_000 }, (_, n) => `user-${n}`)],
    ["one more beside 2 MiB", Array.from({ length: 1_037 }, (_, n) => "\u{1f600}".repeat(505) + n)],
  ])("refuses %s, and takes a change and the next after one is deleted", async (_, others) => {
    const { namespace } = tenant;
    await insert(others);

    const { status, body } = await set("one-more");

    expect(status).toBe(400);
    expect(body.error.detail).toContain("at most 10000 overrides, of 2 MiB together");
    const [first = "", second = ""] = others;
    expect((await set(second)).status).toBe(200);
    await call("ratelimit.deleteOverride", { namespace, identifier: first });
    expect((await set("one-more")).status).toBe(200);
  });

  it("goes on changing a pattern of more stars that is there already", async () => {
    await insert(["*a".repeat(200)]);

    expect((await set("*a".repeat(200))).status).toBe(200);
  });
});

describe("metadata", () => {
  const tooLarge = { text: "a".repeat(1024 * 1024) };
  // Five characters each; Postgres makes 309 of them.
  const unfolding = { numbers: new Array(10_000).fill(1e308) };

  it.each([
    ["large", tooLarge],
    ["made of numbers that unfold", unfolding],
  ])("of a key that is %s is refused, whichever way it comes", async (_, meta) => {
    const { apiId, keyId, migrationId } = tenant;
    const keys = [{ hash: randomBytes(32).toString("hex"), meta }];

    const answers = [
      await call("keys.createKey", { apiId, meta }),
      await call("keys.updateKey", { keyId, meta }),
      await call("keys.migrateKeys", { migrationId, apiId, keys }),
      await call("identities.createIdentity", { externalId: "large", meta }),
      await call("identities.updateIdentity", { identity: tenant.externalId, meta }),
    ];

    for (const { status, body } of answers) {
      expect(status).toBe(400);
      expect(body.error.detail).toContain("Metadata is too large");
    }
  });

  it("of small numbers with exponents is taken as it is", async () => {
    const meta = { small: 1e-7, large: 1e21, text: "1e308" };

    await call("keys.updateKey", { keyId: tenant.keyId, meta });

    const { body } = await call("keys.getKey", { keyId: tenant.keyId });
    expect(body.data.meta).toEqual(meta);
  });
});

it.each([
  ["keys.setPermissions", () => ({ keyId: tenant.keyId, permissions: slugs(1_001) })],
  ["permissions.createRole", () => ({ name: "large", permissions: slugs(1_001) })],
  ["permissions.setRolePermissions", () => ({ roleId: tenant.roleId, permissions: slugs(1_001) })],
])("%s refuses more permissions than anyone means", async (procedure, bodyOf) => {
  const { status, body } = await call(procedure, bodyOf());

  expect(status).toBe(400);
  expect(body.error.detail).toContain("1000 permissions");
});
