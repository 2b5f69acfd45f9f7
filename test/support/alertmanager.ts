/** Debian's Alertmanager and its amtool, where they are installed; and what routes send it to. */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import type { Sending } from "#alerting/alertmanager/tree.ts";
import type { AlertSource, Environment } from "#alerting/routes-contract.ts";
import { aSource } from "./route-rows.ts";

const run = promisify(execFile);

export function isInstalled(...programs: string[]): boolean {
  return programs.every((program) => spawnSync(program, ["--version"]).error === undefined);
}

/** What a command said on both streams; throws when it did not end with 0. */
export async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(program, args, { timeout: 60_000 });
  return `${stdout}${stderr}`;
}

export function aSending(over: Partial<AlertSource> = {}): Sending {
  const environment: Environment = over.environment ?? "production";
  const source = { ...aSource(over), environment };
  const url = `https://incidents.example.com/v2/alert_events/alertmanager/01-${source.name}`;
  return { source, url, credentialsFile: `/etc/alertmanager/${source.name}` };
}
