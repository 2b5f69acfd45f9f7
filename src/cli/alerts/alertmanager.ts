/** Commands about the metrics alert manager, and tokens. They never print a token. */
import type { Environment } from "#alerts/contract.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { writeExport } from "#cli/write-export.ts";
import { readConfig } from "#config.ts";
import { readFileRows } from "#definitions/commands.ts";
import {
  bringAlertmanagerInStep,
  compareAlertmanager,
  exportForAlertmanager,
  rotateTokens,
} from "#routing/alertmanager/commands.ts";

type Options = { config?: string; json: boolean };
type EnvironmentOptions = Options & { environment: Environment };

async function settingsOf({ config }: Options) {
  const settings = readConfig({ file: config, environment: process.env });
  return { ...settings, ...(await readFileRows(settings)) };
}

export async function rotate(options: EnvironmentOptions): Promise<number> {
  const { webhooks, ids, leftOut } = await rotateTokens(
    await settingsOf(options),
    options.environment,
  );
  const rows = webhooks.map((webhook) => ({ ...webhook, source_id: ids.get(webhook.source) }));
  for (const line of leftOut) complain(`left out: ${line}`);
  if (options.json) {
    printJson({ environment: options.environment, webhooks: rows });
    return 0;
  }
  for (const { source, source_id, file, outcome } of rows) {
    const what = outcome === "replaced" ? "has a new token" : "had its token already";
    print(`${source} (${source_id}) ${what} in ${file}; the incident service accepts it`);
  }
  return 0;
}

type Target = { environment?: Environment; alertmanagerVersion?: string };
type ExportOptions = Options & Target & { out: string };

export async function exportRoutes(options: ExportOptions): Promise<number> {
  const { out, json } = options;
  const { left_out, ...made } = await exportForAlertmanager(await settingsOf(options), options);
  const files = writeExport(out, made.files);
  for (const line of left_out) complain(plain(line));
  return printAnswer(
    { directory: out, files, left_out },
    json,
    () => `${files.length} files in ${out}; its README.md says what to do with them`,
  );
}

/** Exit code 0: in step; 2: not in step; 1: the running alert manager could not be asked. */
export async function plan(options: EnvironmentOptions): Promise<number> {
  const { environment, json } = options;
  const compared = await compareAlertmanager(await settingsOf(options), environment);
  const { isInStep, lines, ...comparison } = compared;
  if (json) printJson({ environment, in_step: isInStep, ...comparison });
  else printLines(lines);
  if (isInStep) return 0;
  return comparison.changes.length === 0 && comparison.running === "unknown" ? 1 : 2;
}

export async function apply(options: EnvironmentOptions): Promise<number> {
  const { environment, json } = options;
  const settings = await settingsOf(options);
  const { isConfirmed, lines, ...applied } = await bringAlertmanagerInStep(settings, environment);
  if (json) {
    printJson({ environment, confirmed: isConfirmed, ...applied });
    return 0;
  }
  printLines(lines);
  const end = ends[applied.outcome];
  print(isConfirmed ? end : `${end} This could not be verified: no url is set.`);
  return 0;
}

const ends = {
  in_step: "In step: nothing was changed.",
  reloaded: "The file was in step; the alert manager has read it.",
  written: "The file is written, and the alert manager has read it.",
};

function printLines(lines: readonly string[]): void {
  for (const line of lines) print(plain(line));
}
