/** `vedette heartbeats`: their status, and the ping URL that a job calls when it ran. */
import { setTimeout as delay } from "node:timers/promises";
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { makeToken, registerToken } from "#cli/token.ts";
import { pick } from "#kernel/text.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import { drillHandlers, drillService, type StartedDrill } from "#monitor/drills/contract.ts";
import { heartbeatHandlers, heartbeatService } from "#monitor/operations/contract.ts";
import type { CheckList, CheckView } from "#monitor/results/contract.ts";
import { describeAlert, paintStatus } from "./report.ts";

type HeartbeatRule = Extract<CheckView["rule"], { kind: "heartbeat" }>;
type HeartbeatView = CheckView & { rule: HeartbeatRule };
type DrillRule = NonNullable<HeartbeatRule["drill"]>;
type DrillView = CheckView & { rule: HeartbeatRule & { drill: DrillRule } };

/** Prints the status of heartbeats, and of those that are drills. */
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

export async function listHeartbeats(options: GlobalOptions): Promise<number> {
  const list = await connect(options).checks("List", {});
  const heartbeats = heartbeatsOf(list);
  return printAnswer({ taken_at: list.taken_at, heartbeats }, options.json, () =>
    reportHeartbeats(heartbeats),
  );
}

/** The command generates the token: Vedette stores its hash and sees the token in pings only. */
export async function registerHeartbeat(id: string, options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const list = await connection.checks("List", {});
  pick("heartbeat", id, heartbeatsOf(list));
  const { token, hash } = makeToken();
  const { output } = heartbeatHandlers.Register;
  const address = `${heartbeatService}/${id}/Register`;
  const answer = await registerToken(`${connection.url}/${token}`, () =>
    connection.call(address, { token_hash: hash }, output),
  );
  const url = `${(answer.ping_url ?? connection.url).replace(/\/+$/, "")}/${token}`;
  printAnswer(
    { check: id, url, replaced: answer.replaced },
    options.json,
    () => `${url}\n${answer.replaced ? "The earlier address is void. " : ""}${how}`,
  );
  await untilListed(connection, id);
  return 0;
}

/** Lists lag behind by seconds: the next command shows the heartbeat with its deadline. */
async function untilListed(connection: Connection, id: string): Promise<void> {
  const untilMs = performance.now() + listedWithinMs;
  const isListed = async () =>
    (await connection.checks("List", {})).checks.some((one) => one.id === id && one.since !== null);
  while (!(await isListed()) && performance.now() < untilMs) await delay(200);
}

const listedWithinMs = 6_000;

const how =
  "Save it: it is shown once. Call it when the job has succeeded; or append /start, /fail or /<exit code>.";

/** `vedette drills`: the test alerts that are sent by a cron, or now. */
export async function listDrills(options: GlobalOptions): Promise<number> {
  const list = await connect(options).checks("List", {});
  const drills = drillsOf(list);
  if (options.json) printJson({ taken_at: list.taken_at, drills });
  else if (drills.length === 0) print("There are no drills: they are rows of the definitions.");
  else print(reportDrills(drills));
  return 0;
}

/** Ends when the drill has begun: its channels may have hours to confirm it. */
export async function runDrill(drill: string, options: GlobalOptions): Promise<number> {
  if (!/^[a-z0-9-]{1,100}$/.test(drill)) {
    throw new Error(`${drill} is not a drill: \`vedette drills list\` shows them`);
  }
  const { output } = drillHandlers.Run;
  const begun = await connect(options).call(`${drillService}/${drill}/Run`, {}, output);
  return printAnswer(begun, options.json, reportStarted);
}

function reportStarted({ drill, channels, due_at }: StartedDrill): string {
  const by = channels.map(plain).join(", ");
  return [
    `${drill} has begun: its test alert has to be accepted by ${by} until ${formatUtc(due_at)}.`,
    `Whether they do: \`vedette alerts events --check drill:${drill}\`; the outcome: \`vedette drills list\``,
  ].join("\n");
}
