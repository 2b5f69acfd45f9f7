/** Commands about the metrics alert manager, and tokens. No token is ever printed. */
import {
  type ExportOrder,
  exportForAlertmanager,
  type RotationOrder,
  rotateTokens,
} from "#app-alertmanager.ts";
import { print, printJson } from "./print.ts";
import { writeExport } from "./write-export.ts";

type Json = { json: boolean };

export async function rotate({ json, ...order }: RotationOrder & Json): Promise<number> {
  const { webhooks, ids } = await rotateTokens(order);
  const rows = webhooks.map((webhook) => ({ ...webhook, source_id: ids.get(webhook.source) }));
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
