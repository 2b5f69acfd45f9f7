/** Which settings a check lacks. One that lacks any is off: its request would always fail. */
import type { ReadSecret } from "#kernel/secrets.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { secretsOf } from "./request.ts";

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
