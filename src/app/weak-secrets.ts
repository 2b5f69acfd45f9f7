/** Finds secrets in the settings that are easy to guess. */
import type { Config } from "#config.ts";

const minLength = 8;
const minDifferent = 4;

type Secrets = {
  api: Pick<Config["api"], "root_key" | "encryption_keys">;
  control: Pick<Config["control"], "ingress_token">;
};

/** Returns a line for each, never with its value. Secrets that are not set are generated, and strong. */
export function findWeakSecrets({ api, control }: Secrets): string[] {
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
