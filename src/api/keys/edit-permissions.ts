/** keys.addPermissions, removePermissions and setPermissions: one procedure with three edits. */
import type { ClientBase } from "pg";
import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { lockKey, mayLink, recordKey } from "#api/keys/store/key-access.ts";
import {
  type PermissionRow,
  permissionColumns,
  toPermission,
} from "#api/permissions/permission-store.ts";
import { ensurePermissions, findPermissions, refuseTooMany } from "#api/permissions/resolve.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  examplePermission,
  KeyId,
  PermissionResponse,
  PermissionSlug,
} from "#api/schemas/resources.ts";
import type { KeyParts } from "./parts.ts";
import { exampleKeyId } from "./schemas.ts";
import { addLinks, removeLinks, replaceLinks } from "./store/links.ts";

const PermissionsInput = z.strictObject({
  keyId: KeyId,
  permissions: list(PermissionSlug).describe(
    "Slugs of all permissions that the key itself shall have, at most 1000; an empty list removes them. Those of its roles stay.",
  ),
});
const SomePermissionsInput = z.strictObject({
  keyId: KeyId,
  permissions: list(PermissionSlug, { min: 1, max: 1_000 }).describe(
    "Slugs of the permissions, 1 to 1000.",
  ),
});

export function addPermissions(parts: KeyParts) {
  return permissionEdit(parts, {
    summary: "Gives a key permissions; unknown ones are created.",
    input: SomePermissionsInput,
    permissionsAfter: [examplePermission],
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
    summary: "Removes permissions from a key.",
    input: SomePermissionsInput,
    permissionsAfter: [],
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
    summary: "Replaces the direct permissions of a key; unknown ones are created.",
    input: PermissionsInput,
    permissionsAfter: [examplePermission],
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

type Edit = { made: Change; call: Call; keyId: string; names: string[] };

type PermissionEdit = {
  summary: string;
  input: typeof PermissionsInput;
  /** The key's permissions after the example's edit. */
  permissionsAfter: PermissionResponse[];
  requires: string[];
  edit: (edit: Edit) => Promise<void>;
};

function permissionEdit(
  { change }: KeyParts,
  { summary, input, permissionsAfter, requires, edit }: PermissionEdit,
) {
  return procedure({
    summary,
    input,
    output: z
      .array(PermissionResponse)
      .describe("The permissions that the key itself then has, by slug."),
    example: {
      body: { keyId: exampleKeyId, permissions: [examplePermission.slug] },
      data: permissionsAfter,
    },
    refusals: [404],
    handle: ({ keyId, permissions: names }, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, keyId);
        demand(call, mayLink(key, ...requires));
        await edit({ made, call, keyId, names });
        made.stale(`key:${keyId}`);
        const description = `Changed the permissions of key ${keyId}`;
        recordKey(made, "key.update", { id: keyId, description });
        return { data: await permissionsOfKey(made.transaction, keyId) };
      }),
  });
}

/** Reads the permissions that the key has directly, by slug. */
async function permissionsOfKey(
  transaction: ClientBase,
  keyId: string,
): Promise<PermissionResponse[]> {
  const { rows } = await transaction.query<PermissionRow>(
    `SELECT ${permissionColumns} FROM key_permissions kp JOIN permissions p ON p.id = kp.permission_id
     WHERE kp.key_id = $1 ORDER BY p.slug`,
    [keyId],
  );
  return rows.map(toPermission);
}
