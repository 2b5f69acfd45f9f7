/** What the procedures of the namespace `keys` are given. */
import type { MakeChange } from "#api/changes/change.ts";
import type { Database } from "#kernel/database.ts";
import type { KeyRing } from "./key-ring.ts";
import type { VerifyParts } from "./verify.ts";

export type KeyParts = {
  database: Database;
  change: MakeChange;
  /** Of recoverable keys. */
  keyRing: KeyRing;
  verify: VerifyParts;
};
