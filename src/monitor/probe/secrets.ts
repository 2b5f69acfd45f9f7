/** The secrets that a check needs. One that lacks any is off: its request would always fail. */
import { type ReadSecret, withUnset } from "#kernel/secrets.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import { secretName } from "#monitor/kinds/fields.ts";
import type { Target } from "#monitor/kinds/kind.ts";

/** The names of the settings that a check lacks; empty: it runs. */
export type WhyOff = (check: RunnableCheck) => string[];

const settings: Readonly<Record<string, string>> = {
  KEY: "monitor.key",
  ROOT_KEY: "monitor.root_key",
};

/** The names of the settings that the check lacks here; empty: it can run. */
export function missingSettings(check: RunnableCheck, readSecret: ReadSecret): string[] {
  return secretsOf(check)
    .filter((name) => readSecret(name) === undefined)
    .map((name) => settings[name] ?? `VEDETTE_SECRET_${name}`);
}

/** The names of the secrets that the check would send. */
export function secretsOf(check: RunnableCheck): string[] {
  const names = new Set<string>();
  const readSecret = (name: string) => {
    // Others are values that a step takes.
    if (secretName.test(name)) names.add(name);
    return { value: "x", bindings: [] };
  };
  kindOf(check).build(check, { baseUrl: "", readSecret });
  return [...names];
}

/** Builds all that the check would send, and sends nothing. Throws a `MisdirectedSecret`. */
export function requireMeantSecrets(check: RunnableCheck, { baseUrl, readSecret }: Target): void {
  kindOf(check).build(check, { baseUrl, readSecret: withUnset(readSecret) });
}
