/** Authentication: the caller is the root key in the Authorization header. */
import { hashKey, type KeyRecord } from "#api/cache/key-record.ts";
import { type Asker, askerAt } from "#api/cache/miss-guard.ts";
import { ApiError, invalidInput } from "#api/error.ts";
import { Grants } from "./grants.ts";
import type { RecordUse } from "./key-uses.ts";

/** A root key as it may be used now. */
export type Caller = {
  keyId: string;
  name: string | undefined;
  workspaceId: string;
  grants: Grants;
  /** Calls that its workspace may make in a minute; undefined: no limit. */
  limitPerMinute: number | undefined;
};

/** `header` as received, `address` of the client, its kept-alive `connection`. Throws the wire contract's error. */
export type Authenticate = (
  header: string | undefined,
  nowMs: number,
  address: string,
  connection?: object,
) => Caller | Promise<Caller>;

type FoundKey = KeyRecord | undefined;

/** `asker`: the caller, see `MissGuard`. */
type Keys = { get: (keyHash: string, asker: () => Asker) => FoundKey | Promise<FoundKey> };

const malformed =
  "You must provide a valid root key in the Authorization header in the format " +
  "'Bearer ROOT_KEY'. Your authorization header is missing the 'Bearer ' prefix.";

export function createAuthenticate(keys: Keys, recordUse?: RecordUse): Authenticate {
  const grantsOf = new WeakMap<KeyRecord, Grants>();
  const toCaller = (record: KeyRecord | undefined, nowMs: number): Caller => {
    const key = usable(record, nowMs);
    recordUse?.(key.id, nowMs);
    let grants = grantsOf.get(key);
    if (grants === undefined) {
      grants = new Grants(key.permissions);
      grantsOf.set(key, grants);
    }
    return {
      keyId: key.id,
      name: key.name ?? undefined,
      workspaceId: key.forWorkspaceId,
      grants,
      limitPerMinute: key.forWorkspaceLimitPerMinute ?? undefined,
    };
  };
  const hashOf = createHashHeader();
  return (header, nowMs, address, connection) => {
    const found = keys.get(hashOf(header, connection), () => [askerAt(address)]);
    return found instanceof Promise
      ? found.then((record) => toCaller(record, nowMs))
      : toCaller(found, nowMs);
  };
}

/** A longer header is hashed each time. */
const rememberedLength = 256;

/**
 * The hash of a header's key. A connection's requests nearly all have the same header: the last one is
 * remembered with its connection. A proxy may send the requests of several clients on one connection: each
 * header that differs from the one before is hashed again. What the hash has found is not kept.
 */
function createHashHeader() {
  const last = new WeakMap<object, { header: string; keyHash: string }>();
  return (header: string | undefined, connection: object | undefined): string => {
    const known = connection === undefined ? undefined : last.get(connection);
    if (known !== undefined && known.header === header) return known.keyHash;
    const keyHash = hashKey(readToken(header));
    if (connection !== undefined && header !== undefined && header.length <= rememberedLength) {
      last.set(connection, { header: ownText(header), keyHash });
    }
    return keyHash;
  };
}

function readToken(header: string | undefined): string {
  if (header === undefined || header === "") {
    throw invalidInput("Authorization header for 'bearer' scheme");
  }
  const token = /^bearer +(\S.*)$/i.exec(header)?.[1]?.trim();
  if (token === undefined) throw new ApiError("unkey/authentication/malformed", malformed);
  return token;
}

const invalid = "The provided root key is invalid.";

type RootKey = KeyRecord & { forWorkspaceId: string };

function isRootKey(record: KeyRecord): record is RootKey {
  return record.forWorkspaceId !== null;
}

function usable(record: KeyRecord | undefined, nowMs: number): RootKey {
  if (record === undefined || record.isDeleted) {
    const detail = `${invalid} We could not find the requested key.`;
    throw new ApiError("unkey/authentication/key_not_found", detail);
  }
  if (!isRootKey(record)) throw new ApiError("unkey/authentication/key_not_found", invalid);
  if (!record.isEnabled) {
    throw new ApiError("unkey/authorization/key_disabled", `${invalid} The key is disabled.`);
  }
  if (record.expiresMs !== null && record.expiresMs <= nowMs) {
    const when = new Date(record.expiresMs).toISOString();
    const detail = `${invalid} the key has expired on ${when}`;
    throw new ApiError("unkey/authorization/forbidden", detail);
  }
  if (!record.isForWorkspaceEnabled) {
    const detail = `${invalid} The workspace is disabled.`;
    throw new ApiError("unkey/authorization/workspace_disabled", detail);
  }
  return record;
}

/** A copy of a text that is kept for long: a slice keeps the whole text that it was cut from, such as a request's head. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}
