/** Commands about the definitions of checks; they need no running program. */

import { print, printJson } from "#cli/print.ts";
import { writeExport } from "#cli/write-export.ts";
import { readConfig } from "#config.ts";
import { exportForCheckly, exportForPrometheus, lintChecks } from "#monitor/commands.ts";

export type SettingsOptions = { config?: string; json: boolean };

/** Exit code 0: no faults; 1: there are some. */
export async function lint(options: SettingsOptions): Promise<number> {
  const { apiChecks, heartbeats, channels, faults } = lintChecks(settingsOf(options));
  if (options.json) {
    printJson({ api_checks: apiChecks, heartbeats, channels, faults });
  } else {
    for (const fault of faults) print(fault);
    const found = faults.length === 1 ? "1 fault" : `${faults.length || "no"} faults`;
    print(`${apiChecks} API checks, ${heartbeats} heartbeats, ${channels} channels: ${found}`);
  }
  return faults.length === 0 ? 0 : 1;
}

export type ExportOptions = SettingsOptions & { out: string; baseUrl?: string };

export async function exportToCheckly(options: ExportOptions): Promise<number> {
  report(options, writeExport(options.out, exportForCheckly(settingsOf(options), options.baseUrl)));
  return 0;
}

export async function exportToPrometheus(options: ExportOptions): Promise<number> {
  report(
    options,
    writeExport(options.out, exportForPrometheus(settingsOf(options), options.baseUrl)),
  );
  return 0;
}

function report({ out, json }: ExportOptions, files: readonly string[]): void {
  if (json) printJson({ directory: out, files });
  else print(`${files.length} files in ${out}; its README.md says what to do with them`);
}

function settingsOf({ config }: SettingsOptions) {
  return readConfig({ file: config, environment: process.env });
}
