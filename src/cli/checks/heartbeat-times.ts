/** `vedette heartbeats next`: the times at which a heartbeat by cron expects pings. */
import { print, printJson } from "#cli/print.ts";
import { readConfig } from "#config.ts";
import { readFileDefinitions } from "#definitions/commands.ts";
import { type CronTimes, timeAfter } from "#kernel/cron-times.ts";

type Options = { config?: string; json: boolean };

export async function nextTimes(id: string, { config, json }: Options): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const { heartbeats } = (await readFileDefinitions(settings, config)).set;
  const row = heartbeats.find((one) => one.id === id);
  if (row === undefined) throw new Error(`there is no heartbeat ${id} in the definitions`);
  if (row.cron === undefined) throw new Error(`${id} has a period, and no cron`);
  const times = { expression: row.cron, timezone: row.timezone ?? "UTC" };
  const next = timesFrom(times, Date.now()).map((ms) => formatInZone(ms, times.timezone));
  if (json) printJson({ heartbeat: id, cron: times.expression, timezone: times.timezone, next });
  else print([`${times.expression} (${times.timezone})`, ...next].join("\n"));
  return 0;
}

const shown = 5;

function timesFrom(times: CronTimes, fromMs: number): number[] {
  const found: number[] = [];
  for (let ms = timeAfter(times, fromMs); ms !== null; ms = timeAfter(times, ms)) {
    found.push(ms);
    if (found.length === shown) break;
  }
  return found;
}

/** `Sun 2027-03-28 03:00 +02:00` */
export function formatInZone(ms: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(ms);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  const offset = of("timeZoneName").replace("GMT", "") || "+00:00";
  return `${of("weekday")} ${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")} ${offset}`;
}
