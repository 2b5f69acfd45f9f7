import { hashKey, type KeyRecord } from "#api/cache/key-record.ts";
import type { LiveCache } from "#api/cache/live-cache.ts";
import { type Asker, askerAt } from "#api/cache/miss-guard.ts";
import { adoptMigratedKey } from "#api/keys/migration.ts";
import type { Call } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import { clientAddress } from "./client-address.ts";
import type { VerifyInput } from "./schemas.ts";

type FoundKey = KeyRecord | undefined;

/** Finds a key by the key itself; one of a migration that is not ours yet becomes so first. */
export function createFindKey(keyCache: LiveCache<KeyRecord>, database: Database) {
  // A key that is no key may be named with a migration, too: within the same budget.
  const adopt = (key: string, migrationId: string, call: Call): Promise<FoundKey> =>
    keyCache.guarded(askerOf(call)(), async () => {
      const { workspaceId } = call;
      await adoptMigratedKey(database, { key, migrationId, workspaceId });
      // Also when there was nothing to adopt: another call may have been first.
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

/**
 * Those who guess come to us by way of a gateway, which has one address and a workspace: they are told
 * apart by whom it asks for, and what they use up together is bounded.
 */
const askerOf =
  ({ workspaceId, headers, remoteIp }: Call) =>
  (): Asker => {
    const client = askerAt(clientAddress(headers["x-forwarded-for"], remoteIp));
    return [`${client} of workspace ${workspaceId}`, `workspace ${workspaceId}`];
  };
