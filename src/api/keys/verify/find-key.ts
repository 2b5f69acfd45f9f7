import { hashKey, type KeyRecord } from "#api/cache/key-record.ts";
import type { LiveCache } from "#api/cache/live-cache.ts";
import { type Asker, askerAt } from "#api/cache/miss-guard.ts";
import { adoptMigratedKey } from "#api/keys/migration.ts";
import type { Call } from "#api/procedure.ts";
import { bareAddress } from "#kernel/address.ts";
import type { Database } from "#kernel/database.ts";
import type { VerifyInput } from "./schemas.ts";

/** The client's address: the first forwarded one, without port, else the gateway's. Callers with a root key are trusted. */
export function clientAddress(forwardedFor: string | string[] | undefined, own: string): string {
  const first = String(forwardedFor ?? "").split(",", 1)[0] ?? "";
  return bareAddress(first.trim()) || own;
}

type FoundKey = KeyRecord | undefined;

/** Finds a key by the key itself; a migrated key is adopted at its first use. */
export function createFindKey(keyCache: LiveCache<KeyRecord>, database: Database) {
  // A request may name a migration with an invalid key too: within the same budget.
  const adopt = (key: string, migrationId: string, call: Call): Promise<FoundKey> =>
    keyCache.guarded(askerOf(call)(), async () => {
      const { workspaceId } = call;
      await adoptMigratedKey(database, { key, migrationId, workspaceId });
      // Also when nothing was adopted: a concurrent call may have done it.
      const keyHash = hashKey(key);
      keyCache.forgetUnknown(keyHash);
      return keyCache.get(keyHash);
    });
  return (key: string, { migrationId }: VerifyInput, call: Call): FoundKey | Promise<FoundKey> => {
    const found = keyCache.get(hashKey(key), askerOf(call));
    if (migrationId === undefined || migrationId === "") return found;
    return Promise.resolve(found).then((record) => record ?? adopt(key, migrationId, call));
  };
}

/** Clients that guess keys share a gateway's address: told apart by the forwarded one, with one bounded budget for all. */
const askerOf =
  ({ workspaceId, headers, remoteIp }: Call) =>
  (): Asker => {
    const client = askerAt(clientAddress(headers["x-forwarded-for"], remoteIp));
    return [`${client} of workspace ${workspaceId}`, `workspace ${workspaceId}`];
  };
