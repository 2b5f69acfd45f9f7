/** keys.addRoles, removeRoles and setRoles: one procedure with three edits. */
import { z } from "zod";
import { lockKey, mayLink, onKey, recordKey } from "#api/keys/store/key-access.ts";
import { findRoleIds } from "#api/permissions/resolve.ts";
import { rolesOfKey } from "#api/permissions/role-store.ts";
import { demand, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { exampleRole, KeyId, pageBytes, RoleName, RoleResponse } from "#api/schemas/resources.ts";
import type { KeyParts } from "./parts.ts";
import { exampleKeyId } from "./schemas.ts";
import { addLinks, removeLinks, replaceLinks } from "./store/links.ts";

const RolesInput = z.strictObject({
  keyId: KeyId,
  roles: list(RoleName, { max: 100 }).describe(
    "Names of all roles that the key shall have, at most 100; an empty list removes them.",
  ),
});
const SomeRolesInput = z.strictObject({
  keyId: KeyId,
  roles: list(RoleName, { min: 1, max: 100 }).describe(
    "Names of the roles, 1 to 100; they must exist.",
  ),
});

export function addRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Gives a key roles, by their names.",
    input: SomeRolesInput,
    rolesAfter: [exampleRole],
    requires: ["rbac.*.add_role_to_key"],
    edit: addLinks,
  });
}

export function removeRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Removes roles from a key, by their names.",
    input: SomeRolesInput,
    rolesAfter: [],
    requires: [],
    edit: removeLinks,
  });
}

export function setRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Replaces the roles of a key, by their names.",
    input: RolesInput,
    rolesAfter: [exampleRole],
    requires: [],
    edit: replaceLinks,
  });
}

type RoleEdit = {
  summary: string;
  input: typeof RolesInput;
  /** The key's roles after the example's edit. */
  rolesAfter: RoleResponse[];
  requires: string[];
  edit: typeof addLinks;
};

function roleEdit({ change }: KeyParts, { summary, input, rolesAfter, requires, edit }: RoleEdit) {
  return procedure({
    summary,
    input,
    output: z
      .array(RoleResponse)
      .describe(
        "The roles that the key then has, by name; the permissions of the last ones are left out of an answer over 4 MiB.",
      ),
    example: { body: { keyId: exampleKeyId, roles: [exampleRole.name] }, data: rolesAfter },
    refusals: [404],
    handle: ({ keyId, roles }, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, keyId);
        demand(call, requires.length === 0 ? onKey(key, "update_key") : mayLink(key, ...requires));
        const ids = [...(await findRoleIds(made, call.workspaceId, roles)).values()];
        await edit(made, { keyId, kind: "role", ids });
        made.stale(`key:${keyId}`);
        const description = `Changed the roles of key ${keyId}`;
        recordKey(made, "key.update", { id: keyId, description });
        return { data: await rolesOfKey(made.transaction, keyId, pageBytes) };
      }),
  });
}
