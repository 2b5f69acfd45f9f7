/** The namespace `permissions`: permissions of keys, and roles that bundle them. */
import type { Procedures } from "#api/procedure.ts";
import { createPermission } from "./create-permission.ts";
import { createRole } from "./create-role.ts";
import { deletePermission } from "./delete-permission.ts";
import { deleteRole } from "./delete-role.ts";
import { getPermission } from "./get-permission.ts";
import { getRole } from "./get-role.ts";
import { listPermissions } from "./list-permissions.ts";
import { listRoles } from "./list-roles.ts";
import type { PermissionsParts } from "./permission-store.ts";
import { setRolePermissions } from "./set-role-permissions.ts";

export function permissionsProcedures(parts: PermissionsParts): Procedures {
  return {
    createPermission: createPermission(parts),
    getPermission: getPermission(parts),
    listPermissions: listPermissions(parts),
    deletePermission: deletePermission(parts),
    createRole: createRole(parts),
    getRole: getRole(parts),
    listRoles: listRoles(parts),
    setRolePermissions: setRolePermissions(parts),
    deleteRole: deleteRole(parts),
  };
}
