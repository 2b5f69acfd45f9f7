/** keys.addRoles, removeRoles and setRoles: one procedure with three edits. */
import { z } from "zod";
import { findRoleIds } from "#api/permissions/resolve.ts";
import { rolesOfKey } from "#api/permissions/role-store.ts";
import { demand, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { pageBytes } from "#api/schemas/page.ts";
import { KeyId, RoleName, RoleResponse } from "#api/schemas/schema.ts";
import type { KeyParts } from "./parts.ts";
import { lockKey, mayLink, onKey } from "./store/key-access.ts";
import { addLinks, removeLinks, replaceLinks } from "./store/links.ts";
import { recordKey } from "./store/record-key.ts";

const RolesInput = z.strictObject({ keyId: KeyId, roles: list(RoleName, { max: 100 }) });
const SomeRolesInput = z.strictObject({
  keyId: KeyId,
  roles: list(RoleName, { min: 1, max: 100 }),
});

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
    summary: "Removes roles from a key, by their names.",
    input: SomeRolesInput,
    requires: [],
    edit: removeLinks,
  });
}

export function setRoles(parts: KeyParts) {
  return roleEdit(parts, {
    summary: "Replaces the roles of a key, by their names.",
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
