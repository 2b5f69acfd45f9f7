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

const minLength = 8;
const minDifferent = 4;

type Secrets = {
  api: Pick<Config["api"], "root_key" | "encryption_keys">;
  control: Pick<Config["control"], "ingress_token">;
};

/** Returns a line for each, never with its value. Secrets that are not set are generated, and strong. */
function findWeakSecrets({ api, control }: Secrets): string[] {
  const advice = "set a random one, such as `openssl rand -hex 24` prints, or none";
  return [
    ...faultsOf("control.ingress_token", control.ingress_token, advice),
    ...faultsOf("api.root_key", api.root_key, advice),
    ...api.encryption_keys.flatMap((entry, index) =>
      faultsOf(
        `api.encryption_keys, number ${index + 1}`,
        entry.slice(entry.indexOf(":") + 1),
        "set one that `openssl rand -base64 32` prints",
      ),
    ),
  ];
}

function faultsOf(setting: string, secret: string, advice: string): string[] {
  if (secret === "") return [];
  const isShort = secret.length < minLength;
  if (!isShort && new Set(secret).size >= minDifferent) return [];
  const fault = isShort
    ? `has fewer than ${minLength} characters`
    : `has fewer than ${minDifferent} different characters`;
  return [`${setting}: ${fault} and is refused: ${advice}`];
}
