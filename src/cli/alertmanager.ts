/** Commands about the metrics alert manager, and tokens. No token is ever printed. */
import {
  bringAlertmanagerInStep,
  compareAlertmanager,
  type ExportOrder,
  exportForAlertmanager,
  type KeepOrder,
  type RotationOrder,
  rotateTokens,
} from "#app/alertmanager.ts";
import { complain, print, printJson } from "./print.ts";
import { plain } from "./table.ts";
import { writeExport } from "./write-export.ts";

type Json = { json: boolean };

export async function rotate({ json, ...order }: RotationOrder & Json): Promise<number> {
  const { webhooks, ids, leftOut } = await rotateTokens(order);
  const rows = webhooks.map((webhook) => ({ ...webhook, source_id: ids.get(webhook.source) }));
  for (const line of leftOut) complain(`left out: ${line}`);
  if (json) {
    printJson({ environment: order.environment, webhooks: rows });
    return 0;
  }
  for (const { source, source_id, file, outcome } of rows) {
    const what = outcome === "replaced" ? "has a new token" : "had its token already";
    print(`${source} (${source_id}) ${what} in ${file}; the incident service takes it`);
  }
  return 0;
}

export async function exportRoutes(options: ExportOrder & Json & { out: string }): Promise<number> {
  const { out, json } = options;
  const files = writeExport(out, exportForAlertmanager(options));
  if (json) printJson({ directory: out, files });
  else print(`${files.length} files in ${out}; its README.md says what to do with them`);
  return 0;
}

/** Exit code 0: in step; 2: not; 1: what it works with could not be asked. */
export async function plan({ json, ...order }: KeepOrder & Json): Promise<number> {
  const { isInStep, told, ...standing } = await compareAlertmanager(order);
  if (json) printJson({ environment: order.environment, in_step: isInStep, ...standing });
  else printLines(told);
  if (isInStep) return 0;
  return standing.changes.length === 0 && standing.running === "unknown" ? 1 : 2;
}

export async function apply({ json, ...order }: KeepOrder & Json): Promise<number> {
  const { isConfirmed, told, ...brought } = await bringAlertmanagerInStep(order);
  if (json) {
    printJson({ environment: order.environment, confirmed: isConfirmed, ...brought });
    return 0;
  }
  printLines(told);
  const end = ends[brought.outcome];
  print(isConfirmed ? end : `${end} Nobody could ask it: no url is set.`);
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
