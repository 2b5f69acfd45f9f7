/** The keys that sign proofs, in the table `proof_keys`: one at a time, and the public halves of all before it. */
import { onceAtATime } from "#kernel/async.ts";
import { recordAudit } from "#kernel/audit.ts";
import { generateIdentityKey } from "#kernel/crypto.ts";
import { type Database, inTransaction, type Queries } from "#kernel/database.ts";
import { keyIdOf, type PublicKey, publicKeyOf } from "#kernel/dsse.ts";
import { proofKeysPath } from "./contract.ts";

/** The key that signs now, as PEM. Created by the first process that needs it, and the same for all of a database. */
export async function readSigningKey(database: Queries): Promise<string> {
  const [known] = await readCurrent(database);
  if (known !== undefined) return known.private_key;
  await insertKey(database);
  const [created] = await readCurrent(database);
  if (created === undefined) throw new Error("the key that signs proofs is not in the database");
  return created.private_key;
}

async function readCurrent(database: Queries): Promise<{ private_key: string }[]> {
  const text = "SELECT private_key FROM proof_keys WHERE retired_at IS NULL";
  return (await database.query<{ private_key: string }>(text)).rows;
}

/** Does nothing while there is a key. */
async function insertKey(database: Queries): Promise<void> {
  const privateKey = generateIdentityKey();
  const key = publicKeyOf(privateKey);
  await database.query(
    `INSERT INTO proof_keys (id, public_key, private_key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [keyIdOf(key), key, privateKey],
  );
}

/** Replaces the key and deletes its private half. Of two processes at once one replaces it. Returns the new id. */
export async function rotateProofKey(database: Database, by: string): Promise<string> {
  const key = await inTransaction(database, async (transaction) => {
    await transaction.query(
      "UPDATE proof_keys SET retired_at = now(), private_key = NULL WHERE retired_at IS NULL",
    );
    const made = await readSigningKey(transaction as Queries);
    const id = keyIdOf(publicKeyOf(made));
    const description = `Proofs of rollouts are signed with the new key ${id}`;
    const targets = [{ type: "proofKey", id }];
    const actor = { type: "system" as const, id: by };
    await recordAudit(transaction, [{ event: "proofKey.rotate", description, actor, targets }]);
    return made;
  });
  return keyIdOf(publicKeyOf(key));
}

type KeyRow = { id: string; public_key: PublicKey; created_at: Date; retired_at: Date | null };

/** Returns the page with the public keys, the newest first; null: the path is another one. */
export function createProofKeysPage(database: Database) {
  // Anybody may ask: there is one read at a time, whoever does.
  const read = onceAtATime(async () => {
    await readSigningKey(database);
    const text = "SELECT * FROM proof_keys ORDER BY created_at DESC, retired_at DESC NULLS FIRST";
    const { rows } = await database.query<KeyRow>(text);
    return JSON.stringify({ keys: rows.map(toJwk) });
  });
  return async (path: string) =>
    path === proofKeysPath
      ? { status: 200, type: "application/jwk-set+json", body: await read() }
      : null;
}

function toJwk({ id, public_key, created_at, retired_at }: KeyRow) {
  const { kty, crv, x } = public_key;
  const times = { created_at, ...(retired_at !== null && { retired_at }) };
  return { kty, crv, x, kid: id, alg: "EdDSA", use: "sig", ...times };
}
