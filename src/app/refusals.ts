/**
 * What a start is refused for, each with one line that says what to do. Here is what the settings alone
 * tell; what other processes on the same database tell is in `sole-processes.ts` and
 * `encryption-keys.ts`, a database of a newer version in `#kernel/schema-version.ts`, a Restate of
 * another installation in `#worker/owner.ts`.
 */
import type { Config } from "#config.ts";
import { findUnsignedWorker } from "./unsigned-worker.ts";
import { findWeakSecrets } from "./weak-secrets.ts";

/** Throws one error with a line for each fault; asked before the start changes anything. */
export function refuseSettings(config: Config, roles: readonly string[]): void {
  const faults = [
    ...findWeakSecrets(config),
    ...(roles.includes("worker") ? findUnsignedWorker(config) : []),
  ];
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
