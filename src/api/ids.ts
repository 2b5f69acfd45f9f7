import { randomBytes } from "node:crypto";

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** The prefix of an id names its kind, as the wire contract has it. */
const prefixes = {
  api: "api",
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

/** Random letters are drawn in bulk, so that a request id costs next to nothing. */
let pool = "";
let drawn = 0;

/** A new id, for example `key_9Zt3…`. */
export function newId(kind: keyof typeof prefixes): string {
  if (drawn + idLength > pool.length) {
    pool = drawLetters();
    drawn = 0;
  }
  drawn += idLength;
  return `${prefixes[kind]}_${pool.slice(drawn - idLength, drawn)}`;
}

/** Some thousand random letters, all equally likely. */
function drawLetters(): string {
  const bytes = randomBytes(4_096);
  let count = 0;
  for (const byte of bytes) {
    if (byte >= firstUneven) continue;
    bytes[count] = letters.charCodeAt(byte % letters.length);
    count += 1;
  }
  return bytes.toString("latin1", 0, count);
}
