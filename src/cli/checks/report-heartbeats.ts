/** Prints the status of heartbeats, and of those that are drills. */
import { createTable, plain } from "#cli/table.ts";
import { formatDuration } from "#kernel/duration.ts";
import { formatUtc } from "#kernel/time.ts";
import type { CheckList, CheckView } from "#monitor/results/contract.ts";
import { describeAlert, paintStatus } from "./report.ts";

type HeartbeatRule = Extract<CheckView["rule"], { kind: "heartbeat" }>;
type HeartbeatView = CheckView & { rule: HeartbeatRule };
type DrillRule = NonNullable<HeartbeatRule["drill"]>;
type DrillView = CheckView & { rule: HeartbeatRule & { drill: DrillRule } };

export function heartbeatsOf({ checks }: CheckList): HeartbeatView[] {
  return checks.filter((check): check is HeartbeatView => check.rule.kind === "heartbeat");
}

export function drillsOf(list: CheckList): DrillView[] {
  return heartbeatsOf(list).filter((check): check is DrillView => check.rule.drill !== undefined);
}

export function reportHeartbeats(heartbeats: readonly HeartbeatView[]): string {
  const table = createTable(["heartbeat", "status", "since", "last ping", "due", "rule", "alert"]);
  for (const heartbeat of heartbeats) {
    const { rule } = heartbeat;
    table.push([...commonCells(heartbeat), describeRule(rule), describeAlert(heartbeat)]);
  }
  return String(table);
}

export function reportDrills(drills: readonly DrillView[]): string {
  const head = ["drill", "status", "since", "confirmed", "due", "rule", "channels", "alert"];
  const table = createTable(head);
  for (const drill of drills) {
    const { grace_seconds, channels: tested } = drill.rule.drill;
    const rule = describeRule({ ...drill.rule, grace_seconds });
    const channels = tested.map(plain).join(", ");
    table.push([...commonCells(drill), rule, channels, describeAlert(drill)]);
  }
  return String(table);
}

function commonCells({ id, status, since, last_at, due_at }: CheckView): string[] {
  return [id, paintStatus(status), formatUtc(since), formatUtc(last_at), formatUtc(due_at)];
}

/** `every 24 h, grace 1 h`, or `0 3 * * * UTC, grace 1 h` */
function describeRule({ cron, period_seconds, grace_seconds }: HeartbeatRule): string {
  const when = cron === undefined ? `every ${ofSeconds(period_seconds)}` : plain(cron);
  return `${when}, grace ${ofSeconds(grace_seconds)}`;
}

function ofSeconds(seconds: number): string {
  return formatDuration(seconds * 1_000);
}
