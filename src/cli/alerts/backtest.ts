/** `vedette alerts backtest`: past alerts against the definitions of a file. */
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { readConfig } from "#config.ts";
import { compareWithFile } from "#definitions/commands.ts";
import { definitionsHandlers, definitionsKey, definitionsService } from "#definitions/contract.ts";
import { formatUtc, toIso } from "#kernel/time.ts";
import { withRuleLabels } from "#monitor/commands.ts";
import { type Backtest, backtest, type PastAlert, toRoutingTable } from "#routing/commands.ts";

type Options = GlobalOptions & {
  file?: string;
  prune: boolean;
  days: number;
  timezone: string;
  limit: number;
};

const dayMs = 86_400_000;

/** Exit code 0: the same people are notified; 2: others. */
export async function backtestRoutes(options: Options): Promise<number> {
  const { file: named, prune, days, timezone, limit, json } = options;
  const connection = connect(options);
  const show = `${definitionsService}/${definitionsKey}/Show`;
  const shown = await connection.call(show, {}, definitionsHandlers.Show.output);
  const settings = readConfig({ environment: process.env });
  const { today, file } = await compareWithFile({ settings, named, prune }, shown);
  const past = await readPast(connection, Date.now() - days * dayMs);
  const tableOf = ({ rows, monitored }: typeof today) =>
    toRoutingTable(rows, withRuleLabels(monitored));
  const tables = { today: tableOf(today), file: tableOf(file) };
  const { sinceMs } = past;
  const result = backtest(past.alerts, tables, { sinceMs, timezone, limit });
  printAnswer({ since: toIso(sinceMs), timezone, ...result }, json, () =>
    describeResult(result, { sinceMs, timezone }),
  );
  return result.changed === 0 ? 0 : 2;
}

const pageSize = 1_000;
const mostAlerts = 20_000;

/** `sinceMs`: later than was asked if there are too many. */
async function readPast(connection: Connection, sinceMs: number) {
  const found = new Map<string, PastAlert>();
  const since = toIso(sinceMs);
  for (let until: string | undefined; ; ) {
    const { alerts, next } = await readPage(connection, { since, until });
    for (const alert of alerts) {
      const { check, atMs, suppressedBy } = alert;
      found.set(JSON.stringify([check, atMs, suppressedBy]), alert);
    }
    if (next === undefined) return { alerts: [...found.values()], sinceMs };
    if (next === until || found.size >= mostAlerts) {
      complain(`there are too many alerts: only those since ${formatUtc(next)} were read`);
      return { alerts: [...found.values()], sinceMs: Math.max(sinceMs, Date.parse(next)) };
    }
    until = next;
  }
}

/** `next`: the `until` of the next page; undefined: it was the last one. */
async function readPage(
  { checks }: Connection,
  { since, until }: { since: string; until: string | undefined },
) {
  const asked = { limit: pageSize, since, ...(until !== undefined && { until }) };
  const { episodes, suppressions } = await checks("Episodes", asked);
  const alerts = [
    ...episodes.map((one) => toPast(one.check_id, [one.opened_at, one.resolved_at], null)),
    ...suppressions.map((one) =>
      toPast(one.check_id, [one.began_at, one.ended_at], one.suppressed_by),
    ),
  ];
  // The full list that reaches less far back: what the other one has from before comes again.
  const ends = [
    episodes.slice(pageSize - 1).map(({ opened_at }) => opened_at),
    suppressions.slice(pageSize - 1).map(({ began_at }) => began_at),
  ];
  return { alerts, next: ends.flat().sort().at(-1) };
}

function toPast(check: string, [from, to]: [string, string | null], by: string | null): PastAlert {
  const untilMs = to === null ? null : Date.parse(to);
  return { check, atMs: Date.parse(from), untilMs, suppressedBy: by };
}

function describeResult(result: Backtest, of: { sinceMs: number; timezone: string }): string {
  const { alerts, unknown, receivers, changed, changes } = result;
  const noun = alerts === 1 ? "alert" : "alerts";
  const left = unknown === 0 ? "" : `; ${unknown} of checks that are gone are left out`;
  const head = `${alerts} ${noun} since ${formatUtc(of.sinceMs)}${left}`;
  if (receivers.length === 0) return `${head}: nobody is notified, today and with the file`;
  const counts = createTable(["by", "to", "as", "today", "with the file", "change", "at night"]);
  for (const { target, receiver, kind, today, file } of receivers) {
    const change = file.alerts - today.alerts;
    const night = `${today.at_night}, then ${file.at_night}`;
    const row = [today.alerts, file.alerts, change > 0 ? `+${change}` : change, night];
    counts.push([target, plain(receiver), kind, ...row]);
  }
  const zone = `Night is from 22:00 to 07:00 ${of.timezone}.`;
  if (changed === 0) return `${head}\n${counts}\n${zone} Nothing changes.`;
  const table = createTable(["at", "clock", "by", "check", "today", "with the file", "because"]);
  for (const { at, clock, target, check, before, after, because } of changes) {
    const lists = [before, after].map((names) => plain(names.join(", ")) || "nobody");
    table.push([formatUtc(at), clock, target, plain(check), ...lists, plain(because)]);
  }
  const more = changed - changes.length;
  const rest = more === 0 ? "" : `\nand ${more} more: --limit lists them`;
  return `${head}\n${counts}\n${zone}\nChanged:\n${table}${rest}`;
}
