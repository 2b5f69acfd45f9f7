/** Whether this process has the encryption keys of the others on its database. */
import {
  claimRing,
  compareRing,
  refuseForeign,
  type Verdict,
} from "#api/keys/recoverable/ring-claim.ts";
import { findSealed } from "#api/operator/reseal.ts";
import type { Config } from "#config.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import type { Base } from "./base.ts";
import { createBaseKeyRing } from "./tls.ts";

/** Throws a line that says what to do when they are others. Changes nothing, and needs no newer schema. */
export async function refuseOtherKeys(
  base: Base,
  { roles, database }: { roles: readonly string[]; database: Database },
): Promise<void> {
  // To the embedded database there is nobody else yet.
  if (base.config.database.url === "" || !isSealing(base.config, roles)) return;
  refuseForeign(await compareRing(database, createBaseKeyRing(base).marks));
}

/** Of the embedded database this is the one process: its earlier keys are lost, and start it must. */
function refuse({ config, log }: Base, verdict: Verdict): void {
  try {
    refuseForeign(verdict);
  } catch (error) {
    if (config.database.url !== "") throw error;
    log.error({ detail: (error as Error).message }, "recoverable keys cannot be made or shown");
  }
}

/**
 * As `refuseOtherKeys`, once the schema is there; and says which keys are right when nobody has. A key that
 * was generated waits for the first text that is sealed: until then each data directory may have its own.
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
    refuse(base, verdict);
    return verdict.state;
  });
  if (state === "older") {
    log.warn("another process has a newer key in api.encryption_keys: start again with the same");
  }
  if (state === "unopened") {
    log.warn("api.encryption_keys do not open what is sealed in the database: is it another's?");
  }
}

/** Whether a process with these roles seals anything at all. */
function isSealing({ acme }: Pick<Config, "acme">, roles: readonly string[]): boolean {
  return roles.includes("api") || (roles.includes("worker") && acme.names.length > 0);
}
