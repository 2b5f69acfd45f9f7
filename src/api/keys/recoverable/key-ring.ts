/** Recoverable keys at rest: sealed by AES-256-GCM with a key from the settings. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Change, MakeChange } from "#api/changes/change.ts";
import type { KeyResponse } from "#api/keys/schemas.ts";
import type { Call } from "#api/procedure.ts";
import { type KeyMark, requireOwnRing } from "./ring-claim.ts";

type SealedText = { encryptionKeyId: string; sealed: Buffer };

export type KeyRing = {
  /** `keyId` is authenticated with the text: a sealed key that is copied to another row does not open. */
  seal: (text: string, keyId: string) => SealedText;
  /** Throws when the encryption key is not in the ring or the bytes were modified. */
  open: (sealed: SealedText, keyId: string) => string;
  /** Opens like `open`, but returns undefined where that throws: the encryption key may be lost for good. */
  tryOpen: (sealed: SealedText, keyId: string) => string | undefined;
  /** The encryption key that seals. */
  currentId: string;
  /** A mark of each key, the sealing one first: identifies a key without revealing it. */
  marks: readonly KeyMark[];
};

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** `entries`: `<id>:<32 bytes in base64>`; the first seals, all open. To rotate, add one in front; keep the old ones. */
export function createKeyRing(entries: readonly string[]): KeyRing {
  const keys = new Map(entries.map(parseEntry));
  const [currentId] = keys.keys();
  if (currentId === undefined) throw new Error("api.encryption_keys: at least one key is needed");
  if (keys.size < entries.length) throw new Error("api.encryption_keys: two have the same name");
  const open = ({ encryptionKeyId, sealed }: SealedText, keyId: string): string => {
    const key = keys.get(encryptionKeyId);
    if (key === undefined) {
      throw new Error(`api.encryption_keys: no key "${encryptionKeyId}", which sealed ${keyId}`);
    }
    const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(keyId));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const body = sealed.subarray(nonceBytes, -tagBytes);
    return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
  };
  return {
    currentId,
    marks: [...keys].map(([id, key]) => ({ id, mark: markOf(key) })),
    seal: (text, keyId) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, keys.get(currentId) as Buffer, nonce);
      cipher.setAAD(Buffer.from(keyId));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      const sealed = Buffer.concat([nonce, body, cipher.getAuthTag()]);
      return { encryptionKeyId: currentId, sealed };
    },
    open,
    tryOpen: (sealed, keyId) => {
      try {
        return open(sealed, keyId);
      } catch {
        return undefined;
      }
    },
  };
}

/** Derived from the key by HKDF (RFC 5869), so that it reveals nothing of the key or of what it seals. */
function markOf(key: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", "vedette encryption key mark", 16));
}

function parseEntry(entry: string): [id: string, key: Buffer] {
  const [id = "", encoded = ""] = entry.split(":", 2);
  const key = Buffer.from(encoded, "base64");
  if (id === "" || key.length !== 32) {
    throw new Error("api.encryption_keys: each is <id>:<32 bytes in base64>, one is not");
  }
  return [id, key];
}

/** Records in the audit log which keys are about to be shown. Throws when it cannot: then they are not shown. */
export async function recordShown(
  change: MakeChange,
  call: Call,
  keys: readonly KeyResponse[],
): Promise<void> {
  const shown = keys.filter(({ plaintext }) => plaintext !== undefined);
  if (shown.length === 0) return;
  await change(call, async ({ record }) =>
    record({
      event: "key.decrypt",
      description: `Showed ${shown.length === 1 ? `key ${shown[0]?.keyId}` : `${shown.length} keys`} in clear text`,
      targets: shown.map(({ keyId, name }) => ({
        type: "key",
        id: keyId,
        ...(name !== undefined && { name }),
      })),
    }),
  );
}

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
