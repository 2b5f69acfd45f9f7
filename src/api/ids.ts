import { randomBytes } from "node:crypto";

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** The prefix of an id names its kind, as the wire contract has it. */
const prefixes = {
  api: "api",
  auditEvent: "log",
  identity: "id",
  key: "key",
  keySpace: "ks",
  override: "rlor",
  permission: "perm",
  ratelimit: "rl",
  ratelimitNamespace: "rlns",
  request: "req",
  role: "role",
  workspace: "ws",
} as const;

/** 16 letters and digits: 95 bits, so that no id occurs twice. */
const idLength = 16;

/** Bytes at or above this would make the first letters likelier than the last ones. */
const firstUneven = 256 - (256 % letters.length);

/** Random bytes are drawn in bulk, so that a request id costs next to nothing. */
let pool: Buffer = Buffer.alloc(0);
let drawn = 0;

/** A new id, for example `key_9Zt3…`. */
export function newId(kind: keyof typeof prefixes): string {
  let id = `${prefixes[kind]}_`;
  const end = id.length + idLength;
  while (id.length < end) {
    const byte = nextByte();
    if (byte < firstUneven) id += letters[byte % letters.length];
  }
  return id;
}

function nextByte(): number {
  if (drawn === pool.length) {
    pool = randomBytes(4_096);
    drawn = 0;
  }
  return pool[drawn++] as number;
}
