import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { invalidInput } from "#api/error.ts";
import { ensureIdentities } from "#api/identities/identity-store.ts";
import { refillColumns } from "#api/keys/store/insert-keys.ts";
import { lockKey, onKey, recordKey } from "#api/keys/store/key-access.ts";
import { ensurePermissions, findRoleIds } from "#api/permissions/resolve.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { checkMetaSize, Empty, ExternalId, KeyId } from "#api/schemas/resources.ts";
import { int64Max, Meta, toBigint, whole } from "#api/schemas/schema.ts";
import type { KeyParts } from "./parts.ts";
import {
  Expires,
  exampleKeyId,
  KeyName,
  PermissionSlugs,
  Ratelimits,
  Refill,
  RoleNames,
} from "./schemas.ts";
import type { KeyDetails } from "./store/key-details.ts";
import { replaceLinks } from "./store/links.ts";

/** Absent: unchanged; null: cleared; else: set. */
const UpdateInput = z.strictObject({
  keyId: KeyId,
  name: KeyName.nullable()
    .describe("A name by which people recognize the key; null removes it, absent keeps it.")
    .optional(),
  externalId: ExternalId.nullable()
    .describe(
      "Your own id of the user or tenant that the key belongs to; an identity is created for an unknown one. Null: the key belongs to none; absent: as before.",
    )
    .optional(),
  meta: Meta.nullable()
    .describe(
      "A JSON object of your own, which replaces the metadata: at most 100 properties, 1 MiB. Null removes it, absent keeps it.",
    )
    .optional(),
  expires: Expires.nullable()
    .describe("When the key expires, unix time in milliseconds; null: never, absent: as before.")
    .optional(),
  credits: z
    .strictObject({
      remaining: whole({ min: 0, max: int64Max })
        .nullable()
        .describe(
          "How many credits the key has now; null removes the limit and the refill, absent keeps them.",
        )
        .optional(),
      refill: Refill.nullable()
        .describe("Sets the credits to an amount again and again; null ends that, absent keeps it.")
        .optional(),
    })
    .nullable()
    .describe("What the key may spend; null removes the limit and the refill, absent keeps them.")
    .optional(),
  ratelimits: Ratelimits.describe(
    "All rate limits of the key, at most 50: others are removed. Absent keeps them.",
  ).optional(),
  enabled: z
    .boolean()
    .describe(
      "Whether the key is valid; false: verifications answer `DISABLED`. Absent: as before.",
    )
    .optional(),
  roles: RoleNames.describe(
    "Names of all roles of the key, at most 100: others are taken away. Absent keeps them.",
  ).optional(),
  permissions: PermissionSlugs.describe(
    "Slugs of all permissions of the key itself, at most 1000: others are taken away, unknown ones created. Absent keeps them.",
  ).optional(),
});
type UpdateInput = z.infer<typeof UpdateInput>;

export function updateKey({ change }: KeyParts) {
  return procedure({
    summary: "Updates a key: an absent field is unchanged, null clears, a value sets.",
    input: UpdateInput,
    output: Empty,
    example: {
      body: {
        keyId: exampleKeyId,
        name: "Payments of shop 8",
        expires: null,
        credits: { remaining: 500 },
      },
      data: {},
    },
    refusals: [404],
    handle: (input, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, input.keyId);
        demand(call, onKey(key, "update_key"));
        await setColumns(made, key, await columnsOf(made, call, { input, key }));
        await replaceAttachments(made, call, input);
        made.stale(`key:${key.id}`);
        recordKey(made, "key.update", { id: key.id, description: `Updated key ${key.id}` });
        return { data: {} };
      }),
  });
}

type Columns = Record<string, unknown>;

async function columnsOf(
  change: Change,
  call: Call,
  { input, key }: { input: UpdateInput; key: KeyDetails },
): Promise<Columns> {
  const { name, externalId, meta, expires, enabled } = input;
  return {
    ...(name !== undefined && { name }),
    ...(enabled !== undefined && { enabled }),
    ...(meta !== undefined && { meta: meta === null ? null : checkMetaSize(meta) }),
    ...(expires !== undefined && { expires_at: expires === null ? null : new Date(expires) }),
    ...(externalId !== undefined && {
      identity_id: await identityOf(change, call.workspaceId, externalId),
    }),
    ...creditColumns(input.credits, key),
  };
}

async function identityOf(
  change: Change,
  workspaceId: string,
  externalId: string | null,
): Promise<string | null> {
  if (externalId === null) return null;
  const ids = await ensureIdentities(change, workspaceId, [externalId]);
  return ids.get(externalId) ?? null;
}

/** Unlimited credits have no refill. */
function creditColumns(credits: UpdateInput["credits"], key: KeyDetails): Columns {
  if (credits === undefined) return {};
  if (credits === null || credits.remaining === null) {
    return { remaining: null, refill_amount: null, refill_day: null };
  }
  const { remaining, refill } = credits;
  if (
    remaining === undefined &&
    key.remaining === null &&
    refill !== null &&
    refill !== undefined
  ) {
    throw invalidInput("`credits.remaining` must be provided when `credits.refill` is set.");
  }
  const { refillAmount, refillDay } = refillColumns(refill);
  return {
    ...(remaining !== undefined && { remaining: toBigint(remaining) }),
    ...(refill !== undefined && {
      refill_amount: refillAmount === null ? null : toBigint(refillAmount),
      refill_day: refillDay,
    }),
  };
}

async function setColumns({ transaction }: Change, key: KeyDetails, columns: Columns) {
  const names = Object.keys(columns);
  const assignments = names.map((name, index) => `${name} = $${index + 2}`);
  await transaction.query(
    `UPDATE keys SET ${[...assignments, "updated_at = now()"].join(", ")} WHERE id = $1`,
    [key.id, ...Object.values(columns)],
  );
}

async function replaceAttachments(change: Change, call: Call, input: UpdateInput): Promise<void> {
  const { keyId, ratelimits, roles, permissions: slugs } = input;
  if (ratelimits !== undefined) {
    const owner = { workspaceId: call.workspaceId, column: "key_id" as const, id: keyId };
    await replaceRatelimits(change, owner, ratelimits);
  }
  if (roles !== undefined) {
    const ids = [...(await findRoleIds(change, call.workspaceId, roles)).values()];
    await replaceLinks(change, { keyId, kind: "role", ids });
  }
  if (slugs !== undefined) {
    const permissions = await ensurePermissions(change, call, { slugs, mayCreate: "always" });
    const ids = permissions.map(({ id }) => id);
    await replaceLinks(change, { keyId, kind: "permission", ids });
  }
}
