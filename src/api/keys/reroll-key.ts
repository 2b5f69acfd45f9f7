/** Creates a key with a new secret and all attributes of the old key. */
import { z } from "zod";
import { allOf, type Requirement } from "#api/access/grants.ts";
import type { Change } from "#api/changes/change.ts";
import { newId } from "#api/ids.ts";
import { storeSealed } from "#api/keys/recoverable/key-ring.ts";
import { lockKey, onKey } from "#api/keys/store/key-access.ts";
import { demand, procedure } from "#api/procedure.ts";
import { KeyId } from "#api/schemas/resources.ts";
import { whole } from "#api/schemas/schema.ts";
import { defaultBytes, newKeyMaterial, prefixOf } from "./create-key.ts";
import type { KeyParts } from "./parts.ts";
import { exampleKeyId, NewKeyOutput } from "./schemas.ts";
import type { KeyDetails } from "./store/key-details.ts";

const minuteMs = 60_000;

export function rerollKey({ change, keyRing }: KeyParts) {
  return procedure({
    summary:
      "Replaces a key by a new one; the old one remains valid until `expiration` has passed.",
    input: z.strictObject({
      keyId: KeyId,
      expiration: whole({ min: 0, max: 4_102_444_800_000 }).describe(
        "How long the old key remains valid, in milliseconds, rounded up to whole minutes; 0: it is not valid any more.",
      ),
    }),
    output: NewKeyOutput,
    example: {
      body: { keyId: exampleKeyId, expiration: 86_400_000 },
      data: { keyId: "key_Wm5fDz8LrB3xTq1Y", key: "pay_4Tz9LqXbW7sKfM2cRg6HyN" },
    },
    refusals: [404],
    handle: (input, call) =>
      change(call, async (made) => {
        const old = await lockKey(made.transaction, call, input.keyId);
        demand(call, mayReroll(old));
        const material = newKeyMaterial({
          prefix: prefixOf(old.start) ?? old.defaultPrefix ?? undefined,
          bytes: old.defaultBytes ?? defaultBytes,
        });
        const id = newId("key");
        await copyKey(made, { old, id, hash: material.hash, start: material.start });
        if (old.sealed !== null) await storeSealed(made, call, { id, key: material.key, keyRing });
        await retire(made, old, retirement(call.nowMs, input.expiration));
        recordReroll(made, old, id);
        return { data: { keyId: id, key: material.key } };
      }),
  });
}

function mayReroll(old: KeyDetails): Requirement {
  const create = onKey(old, "create_key");
  return old.sealed === null ? create : allOf(create, onKey(old, "encrypt_key"));
}

/** Returns when the old key expires: at once, or at the end of the minute in which `expirationMs` has passed. */
function retirement(nowMs: number, expirationMs: number): Date {
  if (expirationMs === 0) return new Date(nowMs);
  return new Date(Math.ceil((nowMs + expirationMs) / minuteMs) * minuteMs);
}

type Copy = { old: KeyDetails; id: string; hash: string; start: string };

async function copyKey({ transaction }: Change, { old, id, hash, start }: Copy): Promise<void> {
  await transaction.query(
    `INSERT INTO keys (id, hash, start, workspace_id, key_space_id, name, identity_id, meta,
       enabled, expires_at, remaining, refill_amount, refill_day, last_refill_at)
     SELECT $2, $3, $4, workspace_id, key_space_id, name, identity_id, meta,
       enabled, expires_at, remaining, refill_amount, refill_day, last_refill_at
     FROM keys WHERE id = $1`,
    [old.id, id, hash, start],
  );
  // The rows are locked: one that is being deleted is left out, and none is deleted before the commit.
  await transaction.query(
    `INSERT INTO key_permissions (key_id, permission_id)
     SELECT $2, p.id FROM permissions p JOIN key_permissions kp ON kp.permission_id = p.id
     WHERE kp.key_id = $1 ORDER BY p.id FOR KEY SHARE OF p`,
    [old.id, id],
  );
  await transaction.query(
    `INSERT INTO key_roles (key_id, role_id)
     SELECT $2, r.id FROM roles r JOIN key_roles kr ON kr.role_id = r.id
     WHERE kr.key_id = $1 ORDER BY r.id FOR KEY SHARE OF r`,
    [old.id, id],
  );
  const ids = old.ratelimits.map(() => newId("ratelimit"));
  await transaction.query(
    `INSERT INTO key_ratelimits (id, workspace_id, key_id, name, "limit", duration_ms, auto_apply)
     SELECT new.id, r.workspace_id, $2, r.name, r."limit", r.duration_ms, r.auto_apply
     FROM key_ratelimits r JOIN unnest($3::text[], $4::text[]) AS new (id, old_id)
       ON new.old_id = r.id WHERE r.key_id = $1`,
    [old.id, id, ids, old.ratelimits.map((limit) => limit.id)],
  );
}

/** A reroll never extends the life of the old key. */
async function retire(change: Change, old: KeyDetails, at: Date): Promise<void> {
  await change.transaction.query(
    `UPDATE keys SET expires_at = least(expires_at, $2), updated_at = now() WHERE id = $1`,
    [old.id, at],
  );
  change.stale(`key:${old.id}`);
}

function recordReroll(change: Change, old: KeyDetails, id: string): void {
  change.record({
    event: "key.reroll",
    description: `Rerolled key ${old.id} into ${id}`,
    targets: [
      { type: "key", id: old.id },
      { type: "key", id },
    ],
  });
}
