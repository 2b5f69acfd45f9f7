import type { AlertmanagerSettings } from "#routing/alertmanager/config.ts";
import { runReload } from "#routing/alertmanager/reload-command.ts";
import { connectRunning } from "./running.ts";

export type Reload = (secrets: readonly string[]) => Promise<void>;

type Settings = Pick<AlertmanagerSettings, "url" | "reload_command" | "reload_timeout_seconds">;

/**
 * Makes the alert manager read its files again, by the operator's command or else by a call to its url.
 * With neither it does nothing: Alertmanager reads a token at every message that it sends. Errors never
 * quote the secrets that the function is given.
 */
export function createReload(settings: Settings): Reload {
  const { url, reload_command: argv, reload_timeout_seconds: seconds } = settings;
  if (argv.length > 0) {
    return (secrets) => runReload(argv, { timeoutMs: seconds * 1_000, secrets });
  }
  return async () => {
    if (url !== "") await connectRunning(url).reload();
  };
}
