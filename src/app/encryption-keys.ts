/** Checks that this process has the same encryption keys as the others on its database. */
import {
  claimRing,
  compareRing,
  refuseForeign,
  type Verdict,
} from "#api/keys/recoverable/ring-claim.ts";
import { findSealed, findSealing } from "#api/operator/reseal.ts";
import type { Config } from "#config.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import type { Base } from "./base.ts";
import { createBaseKeyRing } from "./https.ts";

/** Throws an error that says what to do when the keys differ. Changes nothing; works before migrations. */
export async function refuseOtherKeys(
  base: Base,
  { roles, database }: { roles: readonly string[]; database: Database },
): Promise<void> {
  // The embedded database has no other processes.
  if (base.config.database.url === "" || !isSealing(base.config, roles)) return;
  refuseForeign(await compareRing(database, createBaseKeyRing(base).marks));
}

/** With the embedded database there is no other process: its earlier keys are lost, but it has to start. */
function refuse({ config, log }: Base, verdict: Verdict): void {
  try {
    refuseForeign(verdict);
  } catch (error) {
    if (config.database.url !== "") throw error;
    log.error({ detail: (error as Error).message }, "recoverable keys cannot be made or shown");
  }
}

/**
 * Like `refuseOtherKeys`, after the migrations; also records these keys as the right ones when no process has
 * done so. A generated key is recorded with the first text that it seals: until then each data directory may
 * have its own.
 */
export async function claimEncryptionKeys(
  base: Base,
  { roles, database }: { roles: readonly string[]; database: Database },
): Promise<void> {
  const { config, log } = base;
  if (!isSealing(config, roles)) return;
  const keyRing = createBaseKeyRing(base);
  const isSet = config.api.encryption_keys.length > 0 || config.acme.names.length > 0;
  const state = await inTransaction(database, async (transaction) => {
    const known = await compareRing(transaction, keyRing.marks);
    const sealed = known.state === "first" ? await findSealed(transaction, keyRing) : "none";
    if (sealed === "unopened") return sealed;
    if (known.state === "first" && sealed === "none" && !isSet) return known.state;
    const verdict = await claimRing(transaction, keyRing.marks);
    const id =
      verdict.state === "newer" ? await findSealing(transaction, verdict.dropped) : undefined;
    refuse(base, id === undefined ? verdict : { state: "foreign", id, why: "sealing" });
    return verdict.state;
  });
  if (state === "older") {
    log.warn("another process has a newer key in api.encryption_keys: restart with the same keys");
  }
  if (state === "unopened") {
    log.warn("api.encryption_keys do not open the sealed data: check database.url and the keys");
  }
}

/** Whether a process with these roles seals anything. */
function isSealing({ acme }: Pick<Config, "acme">, roles: readonly string[]): boolean {
  return roles.includes("api") || (roles.includes("worker") && acme.names.length > 0);
}
