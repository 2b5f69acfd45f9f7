/** The permissions that a root key can have: a typing error is refused when the key is created, not when it is used. */

/** `<type>.<id or *>.<action>`, by type. */
const actions: Readonly<Record<string, readonly string[]>> = {
  api: [
    "create_api",
    "read_api",
    "delete_api",
    "create_key",
    "read_key",
    "update_key",
    "delete_key",
    "verify_key",
    "encrypt_key",
    "decrypt_key",
    "read_analytics",
  ],
  identity: ["create_identity", "read_identity", "update_identity", "delete_identity"],
  ratelimit: [
    "create_namespace",
    "limit",
    "read_override",
    "set_override",
    "delete_override",
    "read_analytics",
  ],
  rbac: [
    "create_permission",
    "read_permission",
    "delete_permission",
    "create_role",
    "read_role",
    "delete_role",
    "add_permission_to_key",
    "remove_permission_from_key",
    "add_permission_to_role",
    "remove_permission_from_role",
    "add_role_to_key",
  ],
};

/** With wildcards: `unkey:v1:<workspace>:<path>#<action>`. */
const urn = /^unkey:v1:[\w*]+:[\w*/]+#[a-z_*]+$/;

/** Throws for the first permission that no procedure requires, and names the valid ones. */
export function requireKnownPermissions(permissions: readonly string[]): void {
  for (const permission of permissions) {
    const hint = isKnown(permission) ? undefined : hintFor(permission);
    if (hint !== undefined) throw new Error(`there is no permission ${permission}; ${hint}`);
  }
}

function isKnown(permission: string): boolean {
  if (permission === "*" || urn.test(permission)) return true;
  const [type = "", id = "", action = "", ...more] = permission.split(".");
  const isNamed = Object.hasOwn(actions, type) && actions[type]?.includes(action) === true;
  return isNamed && more.length === 0 && /^(?:\*|\w+)$/.test(id);
}

function hintFor(permission: string): string {
  const type = permission.split(".", 1)[0]?.toLowerCase() ?? "";
  const known = Object.hasOwn(actions, type) ? actions[type] : undefined;
  if (known === undefined) return `types are ${Object.keys(actions).join(", ")}`;
  return `of ${type}.* or ${type}.<id> there are ${known.join(", ")}`;
}
