/** The table of docs/settings.md, made of the schemas of the settings. */
import { z } from "zod";
import { Config, environmentAliases } from "#config.ts";
import { isSecret } from "#kernel/setting.ts";

type Row = { key: string; preset: string; text: string };

const startMark = "<!-- settings: written by schema/write.ts -->\n";
const endMark = "<!-- end of settings -->\n";

/** The page with the table in the place of what stands between the two marks. */
export function withSettingsTable(page: string): string {
  const start = page.indexOf(startMark) + startMark.length;
  const end = page.indexOf(endMark);
  return `${page.slice(0, start)}\n${settingsTable()}\n${page.slice(end)}`;
}

function settingsTable(): string {
  const presets: unknown = Config.parse({});
  const rows = rowsOf(Config, presets).map(
    ({ key, preset, text }) => `| \`${key}\`${aliasOf(key)} | ${preset} | ${text} |`,
  );
  return ["| Key | Default | What it is |", "| --- | --- | --- |", ...byTable(rows), ""].join("\n");
}

function byTable(rows: readonly string[]): string[] {
  const tableOf = (row: string) => /\w+/.exec(row)?.[0] ?? "";
  return rows.toSorted((a, b) => (tableOf(a) < tableOf(b) ? -1 : Number(tableOf(a) > tableOf(b))));
}

function rowsOf(schema: z.core.$ZodType, preset: unknown, path = ""): Row[] {
  const description = z.globalRegistry.get(schema)?.description;
  if (description !== undefined) {
    const text = isSecret(schema) ? `**Secret.** ${description}` : description;
    return [{ key: "", preset: describePreset(schema, preset), text }];
  }
  const table = innermost(schema);
  if (!(table instanceof z.ZodObject)) throw new Error(`${path} has no description`);
  const presets = preset as Record<string, unknown>;
  const parts = Object.entries(table.shape).map(([name, part]) => {
    return { name, rows: rowsOf(part, presets[name], `${path}.${name}`) };
  });
  return joinEqual(parts).flatMap(({ name, rows }) =>
    rows.map((row) => ({ ...row, key: row.key === "" ? name : `${name}.${row.key}` })),
  );
}

type Part = { name: string; rows: Row[] };

/** Tables that have the same settings become one: `cron.{key_refill,count_keys}.heartbeat_url`. */
function joinEqual(parts: readonly Part[]): Part[] {
  const groups = Map.groupBy(parts, ({ name, rows }) =>
    rows[0]?.key === "" ? name : JSON.stringify(rows),
  );
  return [...groups.values()].map((group) => {
    const names = group.map(({ name }) => name).join(",");
    return { name: group.length > 1 ? `{${names}}` : names, rows: group[0]?.rows ?? [] };
  });
}

/** The schema of the value itself: without defaults, and without what reads or changes text. */
function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault) {
    return innermost(schema.def.innerType);
  }
  if (schema instanceof z.ZodOptional) return innermost(schema.def.innerType);
  if (!(schema instanceof z.ZodPipe)) return schema;
  return innermost(schema.def.out instanceof z.ZodTransform ? schema.def.in : schema.def.out);
}

function describePreset(schema: z.core.$ZodType, preset: unknown): string {
  const values = describeValues(innermost(schema), preset);
  const isPlain = Array.isArray(preset) ? preset.every(isText) : typeof preset !== "object";
  const shown = isPlain ? String(preset ?? "").replaceAll(",", ", ") : "";
  return values === "" ? shown : `${shown} (${values})`.trim();
}

const isText = (value: unknown) => typeof value === "string";

/** The other choices, or the smallest and the largest number. */
function describeValues(schema: z.core.$ZodType, preset: unknown): string {
  if (schema instanceof z.ZodEnum) {
    const others = schema.options.filter((one) => one !== preset).join(", ");
    return preset === undefined ? others : `or ${others}`;
  }
  if (!(schema instanceof z.ZodNumber)) return "";
  const { minValue, maxValue } = schema;
  return maxValue === 65_535 ? "" : `${minValue}–${maxValue}`;
}

function aliasOf(key: string): string {
  const found = Object.entries(environmentAliases).find(([, path]) => path.join(".") === key);
  return found === undefined ? "" : ` (\`${found[0]}\`)`;
}
