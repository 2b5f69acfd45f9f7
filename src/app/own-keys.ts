/** Registers a process's own keys at its start. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { hashKey } from "#api/cache/key-record.ts";
import { ensureOwnKey, type OwnKey, type OwnKeyState } from "#api/operator/installation-keys.ts";
import type { RootKeyRotation } from "#api/operator/root-keys.ts";
import {
  loadCredentials,
  type RootKeyName,
  renewSecret,
  storeSecret,
} from "#embedded/credentials.ts";
import type { Database } from "#kernel/database.ts";
import type { Base } from "./base.ts";

/** Registers the root key. One of the settings that was revoked stays invalid; a generated one is renewed in our own database. */
export async function startRootKey(base: Base, database: Database): Promise<void> {
  const { config, log } = base;
  const graceSeconds = config.api.root_key_grace_seconds;
  const isSet = config.api.root_key !== "";
  const keyState = await ensureStored(base, database, {
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

/** Registers the root key with which the local fleet verifies keys, and returns it. */
export async function startSentinelKey(base: Base, database: Database): Promise<string> {
  await ensureNarrow(base, database, { name: "sentinel_key", origin: "sentinels" });
  return base.credentials.sentinel_key;
}

/** Registers the root key with which checks call this installation's own API, unless the settings have another. */
export async function startCheckKey(base: Base, database: Database): Promise<void> {
  const { base_url, root_key } = base.config.monitor;
  if (base_url !== "" || root_key !== "") return;
  await ensureNarrow(base, database, { name: "check_key", origin: "checks" });
}

/** Ensures a key of this process: each process of a shared database has its own. */
function ensureNarrow(base: Base, database: Database, key: Pick<StoredKey, "name" | "origin">) {
  const others = isOwnDatabase(base) ? "end" : "join";
  return ensureStored(base, database, { ...key, others, graceSeconds: 0 });
}

/** Replaces the old key in `dataDir`'s credentials by the rotated one. Returns its name; undefined: it is not there. */
export function storeRotated(dataDir: string, rotated: RootKeyRotation): RootKeyName | undefined {
  if (!existsSync(path.join(dataDir, "credentials.json"))) return undefined;
  const kept = loadCredentials(dataDir);
  const name = (["root_key", "sentinel_key", "check_key"] as const).find(
    (one) => hashKey(kept[one]) === rotated.oldHash,
  );
  if (name !== undefined) storeSecret(dataDir, name, rotated.key);
  return name;
}

function isOwnDatabase({ config }: Base): boolean {
  return config.database.url === "";
}

type StoredKey = Omit<OwnKey, "key"> & { name: RootKeyName };

/** Replaces a stored key that has ended by a new one, unless it comes from the settings. */
async function ensureStored(base: Base, database: Database, kept: StoredKey): Promise<OwnKeyState> {
  const { name, ...own } = kept;
  const { credentials, dataDir } = base;
  const keyState = await ensureOwnKey(database, { ...own, key: credentials[name] });
  const isOver = keyState.state === "ended" || keyState.state === "replaced";
  const isNarrow = own.origin === "sentinels" || own.origin === "checks";
  const mayRenew = isNarrow || (own.origin === "generated" && own.others === "end");
  if (!isOver || !mayRenew) return keyState;
  credentials[name] = renewSecret(dataDir, name);
  base.log.info({ credentials: name }, "key has ended, a new one was generated");
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
    log.warn({ keyId, advice }, "another process's root key is registered; this one's is not");
  }
}

const actorKeyName = "actor";

/** Created by the first process that reads it, and the same for all processes of a database. */
export async function readActorKey(database: Database): Promise<Uint8Array> {
  await database.query(
    "INSERT INTO shared_keys (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    [actorKeyName, randomBytes(32)],
  );
  const { rows } = await database.query<{ value: Buffer }>(
    "SELECT value FROM shared_keys WHERE name = $1",
    [actorKeyName],
  );
  const [row] = rows;
  if (row === undefined)
    throw new Error("the key that signs callers' names is not in the database");
  return row.value;
}
