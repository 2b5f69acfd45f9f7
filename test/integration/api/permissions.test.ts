/** The namespace permissions through the published client; each answer is held against the contract. */
import * as errors from "@unkey/api/models/errors";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { auditEvents, startTestApi, type TestApi } from "../../support/api/api.ts";
import { waitFor } from "../../support/wait-for.ts";

let api: TestApi;
let workspace: { id: string; rootKey: string };
let unkey: ReturnType<TestApi["client"]>;
let permissions: typeof unkey.permissions;

beforeAll(async () => {
  api = await startTestApi();
});

beforeEach(async () => {
  workspace = await api.createWorkspace();
  unkey = api.client(workspace.rootKey);
  permissions = unkey.permissions;
});

afterAll(() => api?.stop());

const newPermission = async (slug: string, fields: object = {}) =>
  (await permissions.createPermission({ name: slug, slug, ...fields })).data.permissionId;

const newRole = async (name: string, slugs: string[] = []) =>
  (await permissions.createRole({ name, permissions: slugs })).data.roleId;

const slugsOf = async (role: string) =>
  (await permissions.getRole({ role })).data.permissions?.map(({ slug }) => slug);

/** A key and what verifying it says that it may do. */
async function newKey(fields: object) {
  const { apiId } = (await unkey.apis.createApi({ name: "payments" })).data;
  const { key, keyId } = (await unkey.keys.createKey({ apiId, ...fields })).data;
  const permissionsNow = async () => (await unkey.keys.verifyKey({ key })).data.permissions;
  return {
    key,
    keyId,
    permissionsNow,
    rolesNow: async () => (await unkey.keys.verifyKey({ key })).data.roles,
  };
}

describe("permissions", () => {
  it("are made, and shown by id and by slug in any case", async () => {
    const id = await newPermission("docs.read", { description: "May read" });

    const shown = { id, name: "docs.read", slug: "docs.read", description: "May read" };
    expect((await permissions.getPermission({ permission: id })).data).toEqual(shown);
    expect((await permissions.getPermission({ permission: "DOCS.Read" })).data).toEqual(shown);
  });

  it("have no description when it is empty", async () => {
    const id = await newPermission("docs.read", { description: "" });

    const { body } = await api.call(
      "permissions.getPermission",
      { permission: id },
      workspace.rootKey,
    );

    expect(body.data).toEqual({ id, name: "docs.read", slug: "docs.read" });
  });

  it("have a slug that no other has, whatever its case", async () => {
    await newPermission("docs.read");

    await expect(newPermission("Docs.READ")).rejects.toThrow(errors.ConflictErrorResponse);
  });

  it("may be made twice at once, and once only", async () => {
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => newPermission("a.b")));

    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it.each(["getPermission", "deletePermission"] as const)("%s answers 404", async (procedure) => {
    await expect(permissions[procedure]({ permission: "not.there" })).rejects.toThrow(
      errors.NotFoundErrorResponse,
    );
  });

  it("are taken from roles and keys when they are deleted, at once", async () => {
    await newRole("editor", ["docs.write", "docs.read"]);
    const { permissionsNow } = await newKey({ roles: ["editor"], permissions: ["docs.own"] });
    expect(await permissionsNow()).toEqual(["docs.own", "docs.read", "docs.write"]);

    await permissions.deletePermission({ permission: "docs.write" });
    await permissions.deletePermission({ permission: "DOCS.own" });

    expect(await permissionsNow()).toEqual(["docs.read"]);
    expect(await slugsOf("editor")).toEqual(["docs.read"]);
  });
});

describe("roles", () => {
  it("are made with permissions, the missing ones of which are made too", async () => {
    const known = await newPermission("Docs.Read");

    const id = await newRole("Editor", ["docs.read", "docs.write", "DOCS.WRITE"]);

    const { data } = await permissions.getRole({ role: "eDITOR" });
    expect(data).toMatchObject({ id, name: "Editor" });
    expect(data.permissions).toEqual([
      { id: known, name: "Docs.Read", slug: "Docs.Read" },
      { id: expect.stringMatching(/^perm_/), name: "docs.write", slug: "docs.write" },
    ]);
  });

  it("have no permissions when they have none", async () => {
    const id = await newRole("Empty");

    const { body } = await api.call("permissions.getRole", { role: id }, workspace.rootKey);

    expect(body.data).toEqual({ id, name: "Empty" });
  });

  it("have a name that no other has, whatever its case", async () => {
    await newRole("Äditor");

    await expect(newRole("äDITOR", ["docs.read"])).rejects.toThrow(errors.ConflictErrorResponse);
    await expect(permissions.getPermission({ permission: "docs.read" })).rejects.toThrow(
      errors.NotFoundErrorResponse,
    );
  });

  it.each(["getRole", "deleteRole"] as const)("%s answers 404", async (procedure) => {
    const { status, body } = await api.call(
      `permissions.${procedure}`,
      { role: "nobody" },
      workspace.rootKey,
    );

    expect([status, body.error.type]).toEqual([
      404,
      "https://docs.test/errors/unkey/data/role_not_found",
    ]);
  });

  it("are taken from keys when they are deleted, at once, and leave their permissions", async () => {
    await newRole("editor", ["docs.write"]);
    const { rolesNow, permissionsNow } = await newKey({ roles: ["editor"] });
    expect(await rolesNow()).toEqual(["editor"]);

    await permissions.deleteRole({ role: "Editor" });

    expect([await rolesNow(), await permissionsNow()]).toEqual([undefined, undefined]);
    expect((await permissions.listPermissions({})).result.data).toHaveLength(1);
  });
});

it("takes a deleted permission from a key that is given a role with it at the same time", async () => {
  const permission = await newPermission("docs.read");
  const role = await newRole("editor", ["docs.read"]);
  const { key, keyId, permissionsNow } = await newKey({});
  const waiting =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  const waitersAre = (count: number) =>
    api.database.query(waiting).then(({ rowCount }) => rowCount === count);
  const holder = await api.database.connect();
  await holder.query("BEGIN");
  // Keeps the deletion from its end, after it has looked which keys have the permission.
  await holder.query("SELECT 1 FROM role_permissions WHERE role_id = $1 FOR UPDATE", [role]);

  const deletion = permissions.deletePermission({ permission });
  await waitFor(() => waitersAre(1), { withinMs: 60_000, what: "the deletion to wait" });
  let isGiven = false;
  const giving = unkey.keys.addRoles({ keyId, roles: ["editor"] }).then(() => {
    isGiven = true;
  });
  await waitFor(async () => isGiven || (await waitersAre(2)), {
    withinMs: 60_000,
    what: "the role to be given, or to wait for the deletion",
  });
  await unkey.keys.verifyKey({ key });
  await holder.query("ROLLBACK");
  holder.release();
  await Promise.all([deletion, giving]);

  expect(await permissionsNow()).toBeUndefined();
});

describe("setRolePermissions", () => {
  const set = async (roleId: string, slugs: string[]) =>
    (await permissions.setRolePermissions({ roleId, permissions: slugs })).data;

  it("makes these the role's permissions, as its keys notice at once", async () => {
    const roleId = await newRole("editor", ["b.old", "c.kept"]);
    const { permissionsNow } = await newKey({ roles: ["editor"] });
    expect(await permissionsNow()).toEqual(["b.old", "c.kept"]);

    const answer = await set(roleId, ["d.new", "C.KEPT", "a.new", "d.NEW"]);

    expect(answer.map(({ slug }) => slug)).toEqual(["a.new", "c.kept", "d.new"]);
    expect(await slugsOf(roleId)).toEqual(["a.new", "c.kept", "d.new"]);
    expect(await permissionsNow()).toEqual(["a.new", "c.kept", "d.new"]);
  });

  it("takes all from the role when there are none", async () => {
    const roleId = await newRole("editor", ["a.b"]);

    expect(await set(roleId, [])).toEqual([]);
    expect(await slugsOf(roleId)).toBeUndefined();
  });

  it("knows the role by its id alone", async () => {
    await newRole("editor");

    await expect(set("editor", [])).rejects.toThrow(errors.NotFoundErrorResponse);
  });

  it("writes nothing to the audit log when nothing changes", async () => {
    const roleId = await newRole("editor", ["a.b"]);
    const before = await auditEvents(api, workspace.id);

    await set(roleId, ["A.B"]);

    expect(await auditEvents(api, workspace.id)).toEqual(before);
  });

  it("keeps to one of two calls at once", async () => {
    const roleId = await newRole("editor");

    await Promise.all([set(roleId, ["a.1", "b.1"]), set(roleId, ["b.2", "a.2"])]);

    expect([
      ["a.1", "b.1"],
      ["a.2", "b.2"],
    ]).toContainEqual(await slugsOf(roleId));
  });

  it("refuses more permissions than anyone means", async () => {
    const roleId = await newRole("editor");
    const slugs = Array.from({ length: 1_001 }, (_, index) => `p.${index}`);

    await expect(set(roleId, slugs)).rejects.toThrow(errors.BadRequestErrorResponse);
  });
});

describe("lists", () => {
  it("are walked page by page, each row once", async () => {
    const ids = await Promise.all(["a", "b", "c", "d", "e"].map((name) => newRole(name)));
    const pages: string[][] = [];

    for await (const page of await permissions.listRoles({ limit: 2 })) {
      pages.push(page.result.data.map(({ id }) => id));
    }

    expect(pages).toEqual([
      ids.toSorted().slice(0, 2),
      ids.toSorted().slice(2, 4),
      ids.toSorted().slice(4),
    ]);
  });

  it("begin at the row that the cursor names", async () => {
    const ids = await Promise.all(["a", "b", "c"].map((slug) => newPermission(slug)));
    const [, second, third] = ids.toSorted();

    const page = await permissions.listPermissions({ cursor: second as string });

    expect(page.result.data.map(({ id }) => id)).toEqual([second, third]);
    expect(page.result.pagination).toEqual({ hasMore: false });
  });

  it.each([
    [" DOCS ", ["docs.read", "x.y"]],
    ["%", ["x.y"]],
    ["docs_", []],
    ["\\", []],
    ["", ["docs.read", "x.y"]],
  ])("of permissions are searched for %j", async (search, found) => {
    await newPermission("docs.read");
    await newPermission("x.y", { description: "all docs, 100%" });

    const { data } = (await permissions.listPermissions({ search })).result;

    expect(data.map(({ slug }) => slug).toSorted()).toEqual(found);
  });

  it("of roles are searched by name and description, and show permissions", async () => {
    await permissions.createRole({
      name: "Editor",
      description: "writes_docs",
      permissions: ["a"],
    });
    await newRole("Reader");

    const { data } = (await permissions.listRoles({ search: "S_D" })).result;

    expect(data).toMatchObject([{ name: "Editor", permissions: [{ slug: "a" }] }]);
  });
});

describe("a root key", () => {
  const procedures: [string, object, string[]][] = [
    ["createPermission", { name: "a", slug: "a" }, ["rbac.*.create_permission"]],
    ["getPermission", { permission: "docs.read" }, ["rbac.*.read_permission"]],
    ["listPermissions", {}, ["rbac.*.read_permission"]],
    ["deletePermission", { permission: "docs.read" }, ["rbac.*.delete_permission"]],
    ["createRole", { name: "new" }, ["rbac.*.create_role"]],
    [
      "createRole",
      { name: "new", permissions: ["docs.read"] },
      ["rbac.*.create_role", "rbac.*.add_permission_to_role"],
    ],
    [
      "createRole",
      { name: "new", permissions: ["docs.new"] },
      ["rbac.*.create_role", "rbac.*.add_permission_to_role", "rbac.*.create_permission"],
    ],
    ["getRole", { role: "editor" }, ["rbac.*.read_role"]],
    ["listRoles", {}, ["rbac.*.read_role"]],
    ["deleteRole", { role: "editor" }, ["rbac.*.delete_role"]],
    [
      "setRolePermissions",
      { permissions: ["docs.read"] },
      ["rbac.*.add_permission_to_role", "rbac.*.remove_permission_from_role"],
    ],
    [
      "setRolePermissions",
      { permissions: ["docs.new"] },
      [
        "rbac.*.add_permission_to_role",
        "rbac.*.remove_permission_from_role",
        "rbac.*.create_permission",
      ],
    ],
  ];

  it.each(procedures)("may call %s with %j by %j and no less", async (name, body, grants) => {
    const roleId = await newRole("editor", ["docs.read"]);
    const input = name === "setRolePermissions" ? { roleId, ...body } : body;
    const callWith = async (granted: string[]) => {
      const rootKey = await api.createRootKey(workspace.id, granted);
      return (await api.call(`permissions.${name}`, input, rootKey)).status;
    };

    for (const missing of grants) {
      expect(await callWith(grants.filter((grant) => grant !== missing))).toBe(403);
    }
    expect(await callWith(grants)).toBe(200);
  });

  it("learns what it lacks as a typed error", async () => {
    const rootKey = await api.createRootKey(workspace.id, ["rbac.*.read_role"]);

    const refused = api.client(rootKey).permissions.deleteRole({ role: "editor" });

    await expect(refused).rejects.toThrow(errors.ForbiddenErrorResponse);
    await expect(refused).rejects.toThrow("Missing permission: 'rbac.*.delete_role'");
  });
});

it("writes what was done to the audit log, and nothing of what was refused", async () => {
  const roleId = await newRole("editor", ["a.b"]);
  await permissions.setRolePermissions({ roleId, permissions: ["c.d"] });
  await permissions.deletePermission({ permission: "c.d" });
  await permissions.deleteRole({ role: roleId });
  await permissions.deleteRole({ role: roleId }).catch(() => {});
  await newRole("editor");
  await newRole("editor", ["e.f"]).catch(() => {});

  expect(await auditEvents(api, workspace.id)).toEqual([
    "role.create",
    "permission.create",
    "authorization.connect_role_and_permission",
    "permission.create",
    "authorization.connect_role_and_permission",
    "authorization.disconnect_role_and_permission",
    "permission.delete",
    "role.delete",
    "role.create",
  ]);
});
