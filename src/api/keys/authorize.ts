/** What gives keys permissions and roles, and takes them away. */
import { z } from "zod";
import { allOf, anyOf, type Requirement } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import {
  ensurePermissions,
  findPermissions,
  findRoleIds,
  refuseTooMany,
} from "#api/permissions/resolve.ts";
import { rolesOfKey } from "#api/permissions/role-store.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { pageBytes } from "#api/schemas/page.ts";
import {
  KeyId,
  PermissionResponse,
  PermissionSlug,
  RoleName,
  RoleResponse,
} from "#api/schemas/schema.ts";
import { permissionsOfKey } from "./attached.ts";
import { lockKey, onKey } from "./key-access.ts";
import type { KeyDetails } from "./key-details.ts";
import { addLinks, removeLinks, replaceLinks } from "./links.ts";
import type { KeyParts } from "./parts.ts";
import { recordKey } from "./update.ts";

const PermissionsInput = z.strictObject({ keyId: KeyId, permissions: list(PermissionSlug) });
const SomePermissionsInput = z.strictObject({
  keyId: KeyId,
  permissions: list(PermissionSlug, { min: 1, max: 1_000 }),
});

const RolesInput = z.strictObject({ keyId: KeyId, roles: list(RoleName, { max: 100 }) });
const SomeRolesInput = z.strictObject({
  keyId: KeyId,
  roles: list(RoleName, { min: 1, max: 100 }),
});

/** The URN grant suffices; by plain permissions, those on roles and permissions are needed too. */
function mayUpdate(key: KeyDetails, ...rbac: string[]): Requirement {
  const urn = `unkey:v1:${key.workspaceId}:keyspaces/${key.keySpaceId}/keys/${key.id}#update_key`;
  const plain = anyOf("api.*.update_key", `api.${key.apiId}.update_key`);
  return anyOf(urn, allOf(plain, ...rbac));
}

type Edit<Names> = { made: Change; call: Call; keyId: string; names: Names };

export function addPermissions(parts: KeyParts) {
  return permissionEdit(parts, {
    summary: "Gives a key permissions; unknown ones are made.",
    input: SomePermissionsInput,
    requires: ["rbac.*.add_permission_to_key"],
    edit: async ({ made, call, keyId, names }) => {
      const found = await ensurePermissions(made, call, {
        slugs: names,
        mayCreate: "withPermission",
      });
      await addLinks(made, { keyId, kind: "permission", ids: found.map(({ id }) => id) });
    },
  });
}

export function removePermissions(parts: KeyParts) {
  return permissionEdit(parts, {
    summary: "Takes permissions from a key.",
    input: SomePermissionsInput,
    requires: ["rbac.*.remove_permission_from_key"],
    edit: async ({ made, call, keyId, names }) => {
      const found = await findPermissions(made, call.workspaceId, names);
      const unknown = names.find((slug) => !found.has(slug.toLowerCase()));
      if (unknown !== undefined) {
        const detail = `Permission '${unknown}' was not found.`;
        throw new ApiError("unkey/data/permission_not_found", detail);
      }
      const ids = [...found.values()].map(({ id }) => id);
      await removeLinks(made, { keyId, kind: "permission", ids });
    },
  });
}

export function setPermissions(parts: KeyParts) {
  return permissionEdit(parts, {
    summary: "Makes these the direct permissions of a key; unknown ones are made.",
    input: PermissionsInput,
    requires: ["rbac.*.add_permission_to_key", "rbac.*.remove_permission_from_key"],
    edit: async ({ made, call, keyId, names }) => {
      refuseTooMany(names, "A key");
      const found = await ensurePermissions(made, call, {
        slugs: names,
        mayCreate: "withPermission",
      });
      await replaceLinks(made, { keyId, kind: "permission", ids: found.map(({ id }) => id) });
    },
  });
}

type PermissionEdit = {
  summary: string;
  input: typeof PermissionsInput;
  requires: string[];
  edit: (edit: Edit<string[]>) => Promise<void>;
};

function permissionEdit({ change }: KeyParts, { summary, input, requires, edit }: PermissionEdit) {
  return procedure({
    summary,
    input,
    output: z.array(PermissionResponse),
    refusals: [404],
    handle: ({ keyId, permissions: names }, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, keyId);
        demand(call, mayUpdate(key, ...requires));
        await edit({ made, call, keyId, names });
        finish(made, keyId, "permissions");
        return { data: await permissionsOfKey(made.transaction, keyId) };
      }),
  });
}

export function addRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Gives a key roles, by their names.",
    input: SomeRolesInput,
    requires: ["rbac.*.add_role_to_key"],
    edit: addLinks,
  });
}

export function removeRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Takes roles from a key, by their names.",
    input: SomeRolesInput,
    requires: [],
    edit: removeLinks,
  });
}

export function setRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Makes these the roles of a key, by their names.",
    input: RolesInput,
    requires: [],
    edit: replaceLinks,
  });
}

type RoleEdit = {
  summary: string;
  input: typeof RolesInput;
  requires: string[];
  edit: typeof addLinks;
};

function roleEdit({ change }: KeyParts, { summary, input, requires, edit }: RoleEdit) {
  return procedure({
    summary,
    input,
    output: z.array(RoleResponse),
    refusals: [404],
    handle: ({ keyId, roles }, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, keyId);
        demand(
          call,
          requires.length === 0 ? onKey(key, "update_key") : mayUpdate(key, ...requires),
        );
        const ids = [...(await findRoleIds(made, call.workspaceId, roles)).values()];
        await edit(made, { keyId, kind: "role", ids });
        finish(made, keyId, "roles");
        return { data: await rolesOfKey(made.transaction, keyId, pageBytes) };
      }),
  });
}

function finish(change: Change, keyId: string, what: string): void {
  change.stale(`key:${keyId}`);
  recordKey(change, "key.update", {
    id: keyId,
    description: `Changed the ${what} of key ${keyId}`,
  });
}
