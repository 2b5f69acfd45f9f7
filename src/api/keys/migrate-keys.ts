/** Takes over keys of another program, of which only the hashes are known. */
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { ApiError, invalidInput } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { insertKeys, type KeyToInsert } from "#api/keys/store/insert-keys.ts";
import { findApi } from "#api/keys/store/key-access.ts";
import { ensurePermissions, findRoleIds } from "#api/permissions/resolve.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { exampleIdentity } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import { storedHash } from "./migration.ts";
import type { KeyParts } from "./parts.ts";
import {
  exampleApiId,
  exampleKeyId,
  exampleStoredKey,
  keyOwner,
  newKeyFields,
  RoleNames,
} from "./schemas.ts";

const KeyToMigrate = z.strictObject({
  hash: text({ min: 3 }).describe(
    "The SHA-256 of the key, in hexadecimal or base64; of a prefixed key that of its long token, in hexadecimal. At most 512 characters.",
  ),
  externalId: text({ min: 1, max: 255 }).describe(keyOwner).optional(),
  ...newKeyFields,
  roles: RoleNames.describe(
    "Names of the roles that the key has, at most 100. Unknown ones are created.",
  ).optional(),
});
type KeyToMigrate = z.infer<typeof KeyToMigrate>;

export function migrateKeys({ change, database }: KeyParts) {
  return procedure({
    summary: "Migrates keys of another program by their hashes; existing hashes are skipped.",
    input: z.strictObject({
      migrationId: text({ min: 3, max: 255 }).describe(
        "Which program the keys come from: the id that `vedette keys create-migration` was given.",
      ),
      apiId: text({ min: 3, max: 255 }).describe(
        "The id of the API that the keys are for, `api_…`.",
      ),
      keys: list(KeyToMigrate, { min: 1 }).describe(
        "The keys; with their permissions, roles and limits at most 50000 things in one call.",
      ),
    }),
    output: z.object({
      migrated: z
        .array(
          z.object({
            hash: z.string().describe("The hash that was sent."),
            keyId: z.string().describe("The id of its key here, `key_…`."),
          }),
        )
        .describe("The keys that exist now."),
      failed: z
        .array(z.string())
        .describe("Hashes of the keys that were skipped, as they exist already."),
    }),
    example: {
      body: {
        migrationId: "mig_N8zCk4Rw",
        apiId: exampleApiId,
        keys: [
          {
            hash: exampleHash,
            name: exampleStoredKey.name,
            externalId: exampleIdentity.externalId,
          },
        ],
      },
      data: { migrated: [{ hash: exampleHash, keyId: exampleKeyId }], failed: [] },
    },
    permission: ({ apiId }) => tuple("api", apiId, "create_key"),
    refusals: [404],
    handle: async (input, call) => {
      refuseTooMuch(input.keys);
      const api = await findApi(database, call, input.apiId);
      const algorithm = await findAlgorithm(database, call, input.migrationId);
      const ids = await change(call, async (made) => {
        const permissionIds = await resolvePermissions(made, call, input.keys);
        const roleIds = await ensureRoles(made, call, input.keys);
        const keys = input.keys.map((key): KeyToInsert => {
          const { roles = [], permissions = [], hash, ...fields } = key;
          return {
            ...fields,
            hash: storedHash(algorithm, hash),
            start: "",
            roleIds: roles.flatMap((name) => roleIds.get(name) ?? []),
            permissionIds: permissions.flatMap((slug) => permissionIds.get(slug) ?? []),
            pendingMigrationId: input.migrationId,
          };
        });
        return insertKeys(made, api, firstOfEach(keys));
      });
      return { data: report(input.keys, (hash) => ids.get(storedHash(algorithm, hash))) };
    },
  });
}

const exampleHash = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";

/** Longer than the hashes of all algorithms. */
const hashAtMost = 512;

/** Most rows that one transaction may write, so that it does not delay others. */
const partsAtMost = 50_000;

/** Throws the 400 of a call that is too large: the contract sets no limits. */
function refuseTooMuch(keys: readonly KeyToMigrate[]): void {
  if (keys.some(({ hash }) => hash.length > hashAtMost)) {
    throw invalidInput(`A \`hash\` has at most ${hashAtMost} characters.`);
  }
  const parts = keys.reduce((sum, { permissions = [], roles = [], ratelimits = [] }) => {
    return sum + 1 + permissions.length + roles.length + ratelimits.length;
  }, 0);
  if (parts <= partsAtMost) return;
  throw invalidInput(
    `${parts} keys, permissions, roles and rate limits are more than the ${partsAtMost} that one call may bring. Please send them in several.`,
  );
}

/** A hash given twice in one call is one key. */
function firstOfEach(keys: readonly KeyToInsert[]): KeyToInsert[] {
  return [...new Map(keys.toReversed().map((key) => [key.hash, key])).values()].reverse();
}

function report(keys: readonly KeyToMigrate[], idOf: (hash: string) => string | undefined) {
  const hashes = [...new Set(keys.map(({ hash }) => hash))];
  return {
    migrated: hashes.flatMap((hash) => {
      const keyId = idOf(hash);
      return keyId === undefined ? [] : [{ hash, keyId }];
    }),
    failed: hashes.filter((hash) => idOf(hash) === undefined),
  };
}

async function findAlgorithm(
  database: KeyParts["database"],
  call: Call,
  migrationId: string,
): Promise<string> {
  const { rows } = await database.query<{ algorithm: string }>(
    "SELECT algorithm FROM key_migrations WHERE id = $1 AND workspace_id = $2",
    [migrationId, call.workspaceId],
  );
  if (rows[0] !== undefined) return rows[0].algorithm;
  throw new ApiError(
    "unkey/data/migration_not_found",
    "The requested migration does not exist. The operator makes one with `vedette keys create-migration`.",
  );
}

async function resolvePermissions(change: Change, call: Call, keys: readonly KeyToMigrate[]) {
  const slugs = keys.flatMap(({ permissions }) => permissions ?? []);
  const found = await ensurePermissions(change, call, { slugs, mayCreate: "always" });
  const ids = new Map(found.map(({ slug, id }) => [slug.toLowerCase(), id]));
  return new Map(slugs.map((slug) => [slug, ids.get(slug.toLowerCase())]));
}

async function ensureRoles(
  change: Change,
  call: Call,
  keys: readonly KeyToMigrate[],
): Promise<Map<string, string>> {
  const names = [...new Set(keys.flatMap(({ roles }) => roles ?? []))];
  const { rows } = await change.transaction.query<{ id: string; name: string }>(
    `INSERT INTO roles (id, workspace_id, name)
     SELECT id, $1, name FROM unnest($2::text[], $3::text[]) AS new (id, name)
     ORDER BY lower(name)
     ON CONFLICT (workspace_id, lower(name)) DO NOTHING RETURNING id, name`,
    [call.workspaceId, names.map(() => newId("role")), names],
  );
  for (const { id, name } of rows) {
    change.record({
      event: "role.create",
      description: `Created role ${name}`,
      targets: [{ type: "role", id, name }],
    });
  }
  return findRoleIds(change, call.workspaceId, names);
}
