/** The secrets of the checks, and which checks are off because one is not set. */
import { createReadSecret, type ReadSecret } from "#kernel/secrets.ts";
import { missingSettings, type WhyOff } from "#monitor/probe/missing-settings.ts";
import type { Base } from "./base.ts";

type Settings = Pick<Base, "config"> & { credentials: Pick<Base["credentials"], "check_key"> };

/** Of our own API a root key that only verifies and limits is known. */
export function monitorSecrets({ config, credentials }: Settings): ReadSecret {
  const { base_url, key: KEY, root_key } = config.monitor;
  const ROOT_KEY = root_key || (base_url === "" ? credentials.check_key : "");
  return createReadSecret({ KEY, ROOT_KEY }, config.definitions.secrets_dir);
}

export function createWhyOff(settings: Settings): WhyOff {
  const readSecret = monitorSecrets(settings);
  return (check) => missingSettings(check, readSecret);
}
