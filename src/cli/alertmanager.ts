/** Commands about the metrics alert manager, and tokens. No token is ever printed. */
import {
  bringAlertmanagerInStep,
  compareAlertmanager,
  type ExportOrder,
  exportForAlertmanager,
  type KeepOrder,
  type RotationOrder,
  rotateTokens,
} from "#app-alertmanager.ts";
import { print, printJson } from "./print.ts";
import { plain } from "./table.ts";
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

/** Exit code 0: in step; 2: not; 1: what it works with could not be asked. */
export async function plan({ json, ...order }: KeepOrder & Json): Promise<number> {
  const { isInStep, ...standing } = await compareAlertmanager(order);
  const { changes, running, reason } = standing;
  if (json) printJson({ environment: order.environment, in_step: isInStep, ...standing });
  else {
    showChanges(changes);
    print(reason === undefined ? verdicts[running] : plain(`${verdicts[running]}: ${reason}`));
  }
  if (isInStep) return 0;
  return changes.length === 0 && running === "unknown" ? 1 : 2;
}

const verdicts: Record<Running, string> = {
  in_step: "The alert manager works with the configuration of its file.",
  not_reloaded: "The alert manager works with another configuration: it has to reload.",
  refused: "The alert manager does not take the configuration that it was last told to read.",
  unknown: "What the alert manager works with is unknown",
  not_asked: "The alert manager was not asked: no url is set.",
};

type Running = Awaited<ReturnType<typeof compareAlertmanager>>["running"];
type Changes = Awaited<ReturnType<typeof compareAlertmanager>>["changes"];

export async function apply({ json, ...order }: KeepOrder & Json): Promise<number> {
  const { isConfirmed, ...brought } = await bringAlertmanagerInStep(order);
  const { outcome, changes } = brought;
  if (json) {
    printJson({ environment: order.environment, confirmed: isConfirmed, ...brought });
    return 0;
  }
  showChanges(changes);
  const told = {
    in_step: "In step: nothing was changed.",
    reloaded: "The file was in step; the alert manager has read it.",
    written: "The file is written, and the alert manager has read it.",
  }[outcome];
  print(isConfirmed ? told : `${told} Nobody could ask it: no url is set.`);
  return 0;
}

function showChanges(changes: Changes): void {
  for (const { path, before, after } of changes) {
    const told = [before ?? "(not there)", after ?? "(not there)"].map(plain).join(" → ");
    print(`${plain(path)}: ${told}`);
  }
}
