/** The keys that a process has of its own, registered at its start. */
import { existsSync } from "node:fs";
import path from "node:path";
import { hashKey } from "#api/cache/key-record.ts";
import { ensureOwnKey, type OwnKey, type OwnKeyState } from "#api/operator/installation-keys.ts";
import type { RootKeyRotation } from "#api/operator/root-keys.ts";
import { keepSecret, loadCredentials, renewSecret } from "#embedded/credentials.ts";
import type { Database } from "#kernel/database.ts";
import type { Base } from "./base.ts";

/**
 * Registers the root key of the settings, or the generated one. A key of the settings that was
 * replaced or revoked stays so, and is told; a generated one is made anew where the database is this
 * process's own.
 */
export async function startRootKey(base: Base, database: Database): Promise<void> {
  const { config, log } = base;
  const graceSeconds = config.api.root_key_grace_seconds;
  const isSet = config.api.root_key !== "";
  const keyState = await ensureKept(base, database, {
    name: "root_key",
    origin: isSet ? "setting" : "generated",
    others: isSet || isOwnDatabase(base) ? "end" : "yield",
    graceSeconds,
  });
  logKeyState(keyState, base);
  if (keyState.state === "current" && keyState.replaced.length > 0) {
    log.info({ replaced: keyState.replaced, graceSeconds }, "root key replaced");
  }
}

/** Registers what the local fleet verifies keys with, and answers it. */
export async function startSentinelKey(base: Base, database: Database): Promise<string> {
  await ensureKept(base, database, {
    name: "sentinel_key",
    origin: "sentinels",
    others: isOwnDatabase(base) ? "end" : "join",
    graceSeconds: 0,
  });
  return base.credentials.sentinel_key;
}

/**
 * Puts a rotated key in the place of the one that `dataDir` keeps. Answers under which name; undefined
 * when it keeps another, or none.
 */
export function keepRotated(
  dataDir: string,
  rotated: RootKeyRotation,
): "root_key" | "sentinel_key" | undefined {
  if (!existsSync(path.join(dataDir, "credentials.json"))) return undefined;
  const kept = loadCredentials(dataDir);
  const name = (["root_key", "sentinel_key"] as const).find(
    (one) => hashKey(kept[one]) === rotated.oldHash,
  );
  if (name !== undefined) keepSecret(dataDir, name, rotated.key);
  return name;
}

function isOwnDatabase({ config }: Base): boolean {
  return config.database.url === "";
}

type StoredKey = Omit<OwnKey, "key"> & { name: "root_key" | "sentinel_key" };

/** A kept key that has ended makes room for a new one, unless it is the settings'. */
async function ensureKept(base: Base, database: Database, kept: StoredKey): Promise<OwnKeyState> {
  const { name, ...own } = kept;
  const { credentials, dataDir } = base;
  const keyState = await ensureOwnKey(database, { ...own, key: credentials[name] });
  const isOver = keyState.state === "ended" || keyState.state === "replaced";
  const mayRenew =
    own.origin === "sentinels" || (own.origin === "generated" && own.others === "end");
  if (!isOver || !mayRenew) return keyState;
  credentials[name] = renewSecret(dataDir, name);
  base.log.info({ credentials: name }, "a new key was made in the place of one that has ended");
  return ensureOwnKey(database, { ...own, key: credentials[name] });
}

function logKeyState(keyState: OwnKeyState, { log }: Base): void {
  const { keyId } = keyState;
  if (keyState.state === "ended") {
    log.error({ keyId }, "api.root_key was replaced or revoked and is refused: set the new one");
  }
  if (keyState.state === "replaced") {
    const { endsAt } = keyState;
    log.warn({ keyId, endsAt }, "api.root_key was replaced and ends soon: set the new one");
  }
  if (keyState.state === "taken") {
    const advice = "set the same api.root_key at every process";
    log.warn({ keyId, advice }, "another process's root key stands; this one's own is not known");
  }
}
