/** Lists, adds and removes rows of `control.ci_trust` in the settings' file; everything else in it stays as it is. */
import { realpathSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { z } from "zod";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { createTable } from "#cli/table.ts";
import { Config, readConfig } from "#config.ts";
import { faultLines } from "#kernel/faults.ts";
import { readIfThere, replaceFile } from "#kernel/files.ts";
import type { Role } from "#kernel/roles.ts";
import { noSuch } from "#kernel/text.ts";

type FileOptions = { config?: string; json: boolean };

export async function listTrust({ config, json }: FileOptions): Promise<number> {
  const { control } = readConfig({ file: config, environment: process.env });
  const { ci_trust: rows, public_url: publicUrl } = control;
  return printAnswer({ ci_trust: rows }, json, () => {
    if (rows.length === 0) return "No CI job is trusted. Add one: vedette ci trust add --help";
    const table = createTable(
      "name issuer audience repository workflow ref environment may".split(" "),
    );
    for (const row of rows) {
      const { name, issuer, audience = publicUrl, repository_id = "", workflow = "" } = row;
      const { ref = "", environment = "" } = row;
      const claims = Object.entries(row.claims).map(([claim, value]) => `${claim}=${value}`);
      const where = [repository_id, ...claims].filter((part) => part !== "").join(" ");
      table.push([name, issuer, audience, where, workflow, ref, environment, row.roles.join(", ")]);
    }
    return String(table);
  });
}

type AddOptions = FileOptions & {
  preset?: string;
  issuer?: string;
  audience?: string;
  repositoryId?: string;
  workflow?: string;
  ref?: string;
  environment?: string;
  events?: string;
  claim?: string[];
  roles?: Role[];
};

/** Without a file it prints the row, to be written where the settings are. */
export async function addTrust(name: string, options: AddOptions): Promise<number> {
  const row = rowOf(name, options);
  const text = `[[control.ci_trust]]\n${toToml(row)}`;
  const file = fileOf(options);
  const before = readIfThere(file);
  if (before === undefined) {
    requireValid({ control: { ci_trust: [row] } }, row);
    if (options.json) printJson({ row, file: null });
    else print(text);
    complain(`${file} does not exist: add this to the settings, and start control again.`);
    return 0;
  }
  const wanted = parse(before);
  const control = (wanted["control"] ?? {}) as Record<string, unknown>;
  const rows = [...((control["ci_trust"] ?? []) as unknown[]), row];
  const next = { ...wanted, control: { ...control, ci_trust: rows } };
  requireValid(next, row);
  await write(file, `${before.replace(/\n*$/, "\n\n")}${text}`, next);
  return printAnswer({ row, file }, options.json, () => `Added ${name} to ${file}. ${restart}`);
}

export async function removeTrust(name: string, options: FileOptions): Promise<number> {
  const file = fileOf(options);
  const before = readIfThere(file) ?? "";
  const wanted = parse(before) as { control?: { ci_trust?: { name?: unknown }[] } };
  const rows = wanted.control?.ci_trust ?? [];
  const at = rows.findIndex((row) => row.name === name);
  if (at < 0) {
    const names = rows.map((row) => String(row.name));
    throw new Error(`${noSuch("row", name, names)} (control.ci_trust of ${file})`);
  }
  const left = { ...wanted.control };
  if (rows.length === 1) delete left.ci_trust;
  else left.ci_trust = rows.toSpliced(at, 1);
  await write(file, withoutTable(before, at), { ...wanted, control: left });
  return printAnswer({ removed: name, file }, options.json, () => {
    return `Removed ${name} from ${file}. ${restart}`;
  });
}

const restart = "It counts from the next start of control.";

function fileOf({ config }: FileOptions): string {
  return config ?? (process.env["VEDETTE_CONFIG"] || "vedette.toml");
}

/** The row as the settings have it: without what was left out. */
function rowOf(name: string, options: AddOptions): Record<string, unknown> {
  const { preset, issuer, audience, repositoryId, workflow, ref, environment, events } = options;
  const { claim, roles } = options;
  const fields = {
    ...{ name, preset, issuer, audience, repository_id: repositoryId, workflow, ref, environment },
    events: events?.split(",").map((event) => event.trim()),
    claims: claim && Object.fromEntries(claim.map((pair) => pair.split(/=(.*)/s, 2))),
    roles,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Throws the faults that the rows of these settings would have. */
function requireValid(settings: Record<string, unknown>, row: Record<string, unknown>): void {
  const found = Config.shape.control.safeParse(settings["control"]);
  const issues = found.error?.issues.filter(({ path: [field] }) => field === "ci_trust") ?? [];
  if (issues.length === 0) return;
  const faults = faultLines(new z.ZodError(issues), "settings").join("\n");
  throw new Error(`nothing was written, since ${row["name"]} would have faults:\n${faults}`);
}

/** JSON is how TOML writes texts and lists of them, too. */
function toToml(row: Record<string, unknown>): string {
  const lines = Object.entries(row).map(([field, value]) => {
    const isTable = typeof value === "object" && !Array.isArray(value);
    const pairs = isTable ? Object.entries(value as object) : [];
    const inline = pairs.map(([key, one]) => `${JSON.stringify(key)} = ${JSON.stringify(one)}`);
    return `${field} = ${isTable ? `{ ${inline.join(", ")} }` : JSON.stringify(value)}\n`;
  });
  return lines.join("");
}

/** Cuts out the nth table with its comments behind the heading, up to the next heading. */
function withoutTable(text: string, at: number): string {
  const heading = /^[ \t]*\[\[[ \t]*control[ \t]*\.[ \t]*ci_trust[ \t]*\]\].*$/gm;
  const found = [...text.matchAll(heading)][at];
  if (found === undefined) return text;
  const after = found.index + found[0].length;
  const end = /^[ \t]*\[(?!\[?[ \t]*control[ \t]*\.[ \t]*ci_trust[ \t]*\.)/m.exec(
    text.slice(after),
  );
  const rest = end === null ? "" : text.slice(after + end.index);
  return `${text.slice(0, found.index).replace(/\n+$/, "\n")}${rest === "" ? "" : `\n${rest}`}`;
}

/** Throws unless the text says what is wanted: a table may be written in ways that this does not know. */
async function write(named: string, text: string, wanted: unknown): Promise<void> {
  // Not the link, in whose place the file would be.
  const file = realpathSync(named);
  if (await replaceFile({ file, text }, async () => isSame(text, wanted))) return;
  throw new Error(`${named} was not changed: it writes control.ci_trust in another way; edit it`);
}

function isSame(text: string, wanted: unknown): boolean {
  const plain = (value: unknown) => {
    const { control = {}, ...rest } = JSON.parse(JSON.stringify(value));
    return { ...rest, control };
  };
  try {
    return isDeepStrictEqual(plain(parse(text)), plain(wanted));
  } catch {
    return false;
  }
}
