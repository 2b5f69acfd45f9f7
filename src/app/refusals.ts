/**
 * Refuses to start with faulty settings, with a line for each fault that says what to do. Other reasons to
 * refuse a start: other processes on the same database (`sole-processes.ts`, `encryption-keys.ts`), a
 * database of a newer version (`#kernel/schema-version.ts`), a Restate of another installation
 * (`#worker/owner.ts`).
 */
import type { Config } from "#config.ts";
import { findFaultyHosts } from "#kernel/secrets.ts";
import { findUnshared } from "./distributed.ts";
import { findUselessCi } from "./image-gate.ts";
import { findUnsignedWorker } from "./unsigned-worker.ts";
import { findWeakSecrets } from "./weak-secrets.ts";

/** Throws one error with a line for each fault. Must be called before the start changes anything. */
export function refuseSettings(config: Config, roles: readonly string[]): void {
  const faults = [
    ...findWeakSecrets(config),
    ...findFaultyHosts(config.definitions.secrets_dir),
    ...findUnshared(config, roles),
    ...(roles.includes("worker") ? [...findUnsignedWorker(config), ...findUselessCi(config)] : []),
  ];
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
