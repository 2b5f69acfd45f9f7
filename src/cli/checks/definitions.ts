/** Commands about the definitions of checks: lint, export, and rows added to the file. They need no running program. */
import { print, printAnswer, printJson } from "#cli/print.ts";
import { writeExport } from "#cli/write-export.ts";
import { readConfig } from "#config.ts";
import {
  type AddedRow,
  addRowToFile,
  readFileChecks,
  readFileDefinitions,
} from "#definitions/commands.ts";
import type { CronDialect } from "#kernel/cron-expression.ts";
import { timeAfter } from "#kernel/cron-times.ts";
import { pick } from "#kernel/text.ts";
import { exportForCheckly, exportForPrometheus, leftOutOfCheckly } from "#monitor/commands.ts";

type SettingsOptions = { config?: string; json: boolean };

/** Exit code 0: no faults; 1: there are some, which the error names. */
export async function lint(options: SettingsOptions): Promise<number> {
  const { apiChecks, heartbeats, channels } = await readFileChecks(settingsOf(options));
  const counts = [apiChecks.length, heartbeats.length, channels.length] as const;
  if (options.json) {
    printJson({ api_checks: counts[0], heartbeats: counts[1], channels: counts[2], faults: [] });
  } else {
    print(`${counts[0]} API checks, ${counts[1]} heartbeats, ${counts[2]} channels: no faults`);
  }
  return 0;
}

type ExportOptions = SettingsOptions & { out: string };

export async function exportToCheckly(
  options: ExportOptions & { baseUrl?: string },
): Promise<number> {
  const source = await exportSource(options);
  const files = writeExport(options.out, exportForCheckly(source, options.baseUrl));
  report(options, { files, warnings: leftOutOfCheckly(source.definitions) });
  return 0;
}

export async function exportToPrometheus(options: ExportOptions): Promise<number> {
  const files = writeExport(options.out, exportForPrometheus(await exportSource(options)));
  report(options, { files, warnings: [] });
  return 0;
}

async function exportSource(options: SettingsOptions) {
  const settings = settingsOf(options);
  return { settings, definitions: await readFileChecks(settings) };
}

type ExportReport = { files: readonly string[]; warnings: readonly string[] };

function report({ out, json }: ExportOptions, { files, warnings }: ExportReport): void {
  if (json) printJson({ directory: out, files, warnings });
  else {
    print(`${files.length} files in ${out}; its README.md says what to do with them`);
    for (const warning of warnings) print(`left out: ${warning}`);
  }
}

function settingsOf({ config }: SettingsOptions) {
  return readConfig({ file: config, environment: process.env });
}

type RowOptions = {
  id?: string;
  name?: string;
  environment?: string;
  channel?: string;
  config?: string;
  json: boolean;
};

export type CheckOptions = RowOptions & {
  every?: number;
  expect?: number | string | (number | string)[];
  degradedAbove?: number;
  failedAbove?: number;
};

export async function addCheck(url: string, options: CheckOptions): Promise<number> {
  const { every, expect, degradedAbove, failedAbove } = options;
  const { fields, bare } = readAddress(url);
  if (fields.kind !== undefined && expect !== undefined) {
    throw new Error(`a check of ${fields.kind} has no HTTP status: leave out --expect`);
  }
  const row = {
    id: options.id ?? idOf(bare),
    name: options.name,
    environment: options.environment,
    ...fields,
    assertions: expect && [{ source: "status", equals: expect }],
    frequencySeconds: every,
    degradedAboveMs: degradedAbove,
    failedAboveMs: failedAbove,
    channels: options.channel && [options.channel],
  };
  return await append("checks", row, options);
}

type HeartbeatOptions = RowOptions & {
  every?: number;
  cron?: string;
  timezone?: string;
  cronDialect?: string;
  early?: number;
  grace: number;
};

/** Its id is made of the name. */
export async function addHeartbeat(name: string, options: HeartbeatOptions): Promise<number> {
  const { every, cron, timezone } = options;
  if ((every === undefined) === (cron === undefined)) {
    throw new Error("say when the job runs: either --every, such as 1d, or --cron");
  }
  const row = {
    id: options.id ?? idOf(name),
    name: options.name ?? name,
    environment: options.environment,
    periodSeconds: every,
    cron,
    timezone,
    cronDialect: options.cronDialect,
    earlySeconds: options.early,
    graceSeconds: options.grace,
    channels: options.channel && [options.channel],
  };
  return await append("heartbeats", row, options);
}

/** `shop.example.com/health` becomes `shop-example-com-health`. */
function idOf(text: string): string {
  const id = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return id.slice(0, 100).replace(/-$/, "");
}

async function append(
  section: "checks" | "heartbeats",
  fields: { id: string; [field: string]: unknown },
  { config, json }: RowOptions,
): Promise<number> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const row = Object.fromEntries(given);
  const settings = readConfig({ environment: process.env });
  const added = await addRowToFile(settings, config, { section, row });
  return printAnswer({ file: added.file, section, row, paste: added.paste?.text }, json, () =>
    [describe(added, `${section}.${fields.id}`), ...nextOf(section, row)].join("\n"),
  );
}

function describe({ file, paste }: AddedRow, row: string): string {
  if (paste === undefined) return `Added ${row} to ${file}.`;
  return `Paste this into ${paste.into} of ${file}, which was not changed:\n\n${paste.text}\n`;
}

function nextOf(section: "checks" | "heartbeats", { id, channels }: Record<string, unknown>) {
  const silent = "It alerts nobody: `channels` of the row names the channel that is notified.";
  const register = `Then \`vedette heartbeats register ${id}\` makes the address that the job pings.`;
  return [
    ...(channels === undefined ? [silent] : []),
    "Next: `vedette config plan` shows what this changes, `vedette config apply` or a start applies it.",
    ...(section === "heartbeats" ? [register] : []),
  ];
}

type Fields =
  | { kind?: never; url: string }
  | { kind: "dns"; domain: string }
  | { kind: "tcp" | "tls"; host: string; port?: number };

/**
 * `tcp://db.example.com:5432`, `tls://shop.example.com` and `dns:example.com`; else an address of HTTP.
 * `bare`: to make an id of, without scheme, query and fragment; of `tls` and `dns` with the kind, since the
 * host may have a check of its page as well. Throws an error that has an example.
 */
export function readAddress(address: string): { fields: Fields; bare: string } {
  const [, scheme = "", rest = ""] =
    /^(https?:\/\/|tcp:\/\/|tls:\/\/|dns:)?(.*)$/is.exec(address) ?? [];
  const bare = rest.replace(/[?#].*$/s, "");
  switch (scheme.toLowerCase()) {
    case "dns:":
      return { fields: { kind: "dns", domain: rest }, bare: `${bare}-dns` };
    case "tcp://":
      return { fields: { kind: "tcp", ...readHost(address, rest, true) }, bare };
    case "tls://":
      return { fields: { kind: "tls", ...readHost(address, rest, false) }, bare: `${bare}-tls` };
    default:
      return { fields: { url: address }, bare };
  }
}

function readHost(address: string, rest: string, needsPort: boolean) {
  const [, inBrackets, plain, port] = /^(?:\[(.*)\]|([^:/]*))(?::(\d{1,5}))?\/?$/.exec(rest) ?? [];
  const host = inBrackets ?? plain ?? "";
  if (host === "" || (needsPort && port === undefined)) {
    const example = needsPort ? "tcp://db.example.com:5432" : "tls://shop.example.com";
    throw new Error(`${address} is not an address such as ${example}`);
  }
  return { host, ...(port !== undefined && { port: Number(port) }) };
}

type NextTimesOptions = { config?: string; json: boolean };

export async function nextTimes(id: string, { config, json }: NextTimesOptions): Promise<number> {
  const settings = readConfig({ environment: process.env });
  const { heartbeats } = (await readFileDefinitions(settings, config)).set;
  const row = pick("heartbeat", id, heartbeats);
  if (row.cron === undefined) throw new Error(`${id} has a period, and no cron`);
  const found = findNext(row.cron, row, Date.now());
  const { cron, timezone, cronDialect, next } = found;
  return printAnswer({ heartbeat: id, ...found }, json, () =>
    [`${cron} (${timezone}, ${dialectNames[cronDialect]})`, ...next].join("\n"),
  );
}

const dialectNames = { debian: "as Debian's cron", kubernetes: "as a CronJob of Kubernetes" };

const shown = 5;

type Row = { timezone?: string | undefined; cronDialect?: CronDialect | undefined };

export function findNext(cron: string, row: Row, nowMs: number) {
  const { timezone = "UTC", cronDialect = "debian" } = row;
  const times = { expression: cron, timezone, dialect: cronDialect };
  const next: string[] = [];
  for (let ms = timeAfter(times, nowMs); ms !== null; ms = timeAfter(times, ms)) {
    next.push(formatInZone(ms, timezone));
    if (next.length === shown) break;
  }
  return { cron, timezone, cronDialect, next };
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
