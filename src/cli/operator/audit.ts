import { once } from "node:events";
import { type Operator, withOperator } from "#app/operator.ts";
import type { DatabaseOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { escapeJson } from "#kernel/text.ts";
import { formatUtc } from "#kernel/time.ts";

export type AuditOptions = DatabaseOptions & {
  workspace?: string;
  event?: string;
  actor?: string;
  target?: string;
  since?: Date;
  until?: Date;
  limit: number;
  cursor?: string;
};

export async function listAudit(options: AuditOptions): Promise<number> {
  const { workspace: workspaceId, event, actor: actorId, target: targetId } = options;
  const { since, until, limit, cursor } = options;
  const filter = { workspaceId, event, actorId, targetId, since, until };
  const page = await withOperator(options, ({ audit }) => audit.list(filter, { limit, cursor }));
  if (options.json) {
    printJson({ entries: page.entries.map(toWire), next_cursor: page.cursor ?? null });
    return 0;
  }
  const table = createTable(["time", "workspace", "event", "by", "from", "what"]);
  for (const entry of page.entries) {
    const { time, remoteIp } = entry;
    const of = entry.workspaceId ?? "";
    const [by, from, what] = [entry.actorId, remoteIp ?? "", entry.description].map(plain);
    table.push([formatUtc(time), of, entry.event, by, from, what]);
  }
  print(String(table));
  if (page.cursor !== undefined) complain(`more: --cursor ${page.cursor}`);
  return 0;
}

type Verdict = Awaited<ReturnType<Operator["audit"]["verify"]>>;
type VerifyOptions = DatabaseOptions & { head?: { cursor: number; hash: string } };

/** Exits with 2 when a row was changed or is missing. */
export async function verifyAudit({ head, ...options }: VerifyOptions): Promise<number> {
  const verdict = await withOperator(options, ({ audit }) => audit.verify(head));
  if (options.json) printJson(verdict);
  else print(describeVerdict(verdict));
  return verdict.state === "intact" ? 0 : 2;
}

function describeVerdict(verdict: Verdict): string {
  if (verdict.state === "changed") {
    const { cursor, id, time } = verdict;
    return `row ${cursor} (${id}, ${time}) was changed, or the one before it was replaced`;
  }
  if (verdict.state === "missing") {
    const { cursor, through } = verdict;
    return cursor === through
      ? `row ${cursor} is missing`
      : `rows ${cursor} to ${through} are missing`;
  }
  const { rows, first, head } = verdict;
  const removed =
    first === null || first === 1 ? "" : `, from row ${first}: the older ones were removed`;
  return `intact: ${rows} rows${removed}\nhead: ${head.cursor}:${head.hash}`;
}

type ExportOptions = DatabaseOptions & { since?: number | Date; follow?: true };

/** Writes a row to a line. A reader that is killed goes on after the cursor of its last whole line. */
export async function exportAudit(options: ExportOptions): Promise<number> {
  const { since, follow = false } = options;
  const ended = new AbortController();
  const { stdout } = process;
  stdout.once("error", () => ended.abort());
  const onAway = (error: Error) => complain(`waiting for the database: ${error.message}`);
  const { signal } = ended;
  await withOperator(options, async ({ audit }) => {
    for await (const row of audit.export({ since, follow, signal, onAway })) {
      const line = `${escapeJson(JSON.stringify(row))}\n`;
      if (!stdout.write(line)) await once(stdout, "drain", { signal }).catch(() => {});
    }
  });
  return 0;
}

type Page = Awaited<ReturnType<Parameters<Parameters<typeof withOperator>[1]>[0]["audit"]["list"]>>;

function toWire(entry: Page["entries"][number]) {
  return {
    id: entry.id,
    time: entry.time,
    workspace_id: entry.workspaceId,
    event: entry.event,
    description: entry.description,
    actor: { type: entry.actorType, id: entry.actorId },
    remote_ip: entry.remoteIp,
    user_agent: entry.userAgent,
    request_id: entry.requestId,
    targets: entry.targets,
    meta: entry.meta,
  };
}
