import type { Change } from "#api/changes/change.ts";
import type { Call } from "#api/procedure.ts";
import type { KeyRing } from "./key-ring.ts";
import { requireOwnRing } from "./ring-claim.ts";

/** Stores a key sealed, so that it can be shown again. */
export async function storeSealed(
  { transaction }: Change,
  call: Call,
  of: { id: string; key: string; keyRing: KeyRing },
): Promise<void> {
  await requireOwnRing(transaction, of.keyRing.marks);
  const { encryptionKeyId, sealed } = of.keyRing.seal(of.key, of.id);
  await transaction.query(
    `INSERT INTO encrypted_keys (key_id, workspace_id, encryption_key_id, sealed)
     VALUES ($1, $2, $3, $4)`,
    [of.id, call.workspaceId, encryptionKeyId, sealed],
  );
}
