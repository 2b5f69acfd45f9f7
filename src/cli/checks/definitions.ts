/** Commands about the definitions of checks; they need no running program. */
import { print, printJson } from "#cli/print.ts";
import { writeExport } from "#cli/write-export.ts";
import { readConfig } from "#config.ts";
import { readFileChecks } from "#definitions/commands.ts";
import { exportForCheckly, exportForPrometheus, leftOutOfCheckly } from "#monitor/commands.ts";

export type SettingsOptions = { config?: string; json: boolean };

/** Exit code 0: no faults; 1: there are some, which the error names. */
export async function lint(options: SettingsOptions): Promise<number> {
  const { apiChecks, heartbeats, channels } = await readFileChecks(settingsOf(options));
  const counts = [apiChecks.length, heartbeats.length, channels.length] as const;
  if (options.json) {
    printJson({ api_checks: counts[0], heartbeats: counts[1], channels: counts[2], faults: [] });
  } else {
    print(`${counts[0]} API checks, ${counts[1]} heartbeats, ${counts[2]} channels: no faults`);
  }
  return 0;
}

type ExportOptions = SettingsOptions & { out: string };

export async function exportToCheckly(
  options: ExportOptions & { baseUrl?: string },
): Promise<number> {
  const source = await exportSource(options);
  const files = writeExport(options.out, exportForCheckly(source, options.baseUrl));
  report(options, { files, warnings: leftOutOfCheckly(source.definitions) });
  return 0;
}

export async function exportToPrometheus(options: ExportOptions): Promise<number> {
  const files = writeExport(options.out, exportForPrometheus(await exportSource(options)));
  report(options, { files, warnings: [] });
  return 0;
}

async function exportSource(options: SettingsOptions) {
  const settings = settingsOf(options);
  return { settings, definitions: await readFileChecks(settings) };
}

type ExportReport = { files: readonly string[]; warnings: readonly string[] };

function report({ out, json }: ExportOptions, { files, warnings }: ExportReport): void {
  if (json) printJson({ directory: out, files, warnings });
  else {
    print(`${files.length} files in ${out}; its README.md says what to do with them`);
    for (const warning of warnings) print(`left out: ${warning}`);
  }
}

function settingsOf({ config }: SettingsOptions) {
  return readConfig({ file: config, environment: process.env });
}
