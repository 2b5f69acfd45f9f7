/** `vedette identity`: the key pair for a Restate server of its own, which signs what it sends us. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { generateIdentityKey, publicIdentityOf } from "#kernel/crypto.ts";
import { writeFileAtomically } from "#kernel/files.ts";

/** Writes `private.pem` (0600, for Restate) and `public.key` (`restate.identity_key_file`). Replaces no private key. */
export async function writeIdentity(options: { out: string }): Promise<number> {
  mkdirSync(options.out, { recursive: true });
  const privateFile = path.join(options.out, "private.pem");
  if (!existsSync(privateFile)) writeFileAtomically(privateFile, generateIdentityKey());
  const publicFile = path.join(options.out, "public.key");
  const publicKey = publicIdentityOf(readFileSync(privateFile, "utf8"));
  writeFileSync(publicFile, `${publicKey}\n`, { mode: 0o644 });
  process.stdout.write(`${publicKey}\n`);
  return 0;
}
