import { withOperator } from "#app/operator.ts";
import type { DatabaseOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
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
    const { time, workspaceId: of, remoteIp } = entry;
    const [by, from, what] = [entry.actorId, remoteIp ?? "", entry.description].map(plain);
    table.push([formatUtc(time), of, entry.event, by, from, what]);
  }
  print(String(table));
  if (page.cursor !== undefined) complain(`more: --cursor ${page.cursor}`);
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
