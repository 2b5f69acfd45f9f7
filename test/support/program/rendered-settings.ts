/** What the program makes of rendered settings and variables. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { type Config, readConfig, secretSettings } from "#config.ts";
import { tempDir } from "../temp-dir.ts";

/** Of the settings that are secrets, their dotted paths. */
export const secrets = secretSettings;

// biome-ignore lint/suspicious/noExplicitAny: an object of any kind
type Rendered = { kind: string; data?: any };

/** The settings of the chart's ConfigMap. Throws what a start would say of them. */
export function settingsOf(objects: readonly Rendered[]): Config {
  const texts = objects.flatMap(({ kind, data }) =>
    kind === "ConfigMap" && data?.["vedette.toml"] !== undefined ? [data["vedette.toml"]] : [],
  );
  if (texts.length !== 1) throw new Error(`${texts.length} ConfigMaps with settings`);
  const file = path.join(tempDir(), "vedette.toml");
  writeFileSync(file, texts[0]);
  return readConfig({ file, environment: {} });
}

export function valueAt(config: object, setting: string): unknown {
  const step = (inner: unknown, word: string) =>
    (inner as Record<string, unknown> | undefined)?.[word];
  return setting.split(".").reduce(step, config);
}

const samples = [
  "7",
  "x",
  "http://x.example.com",
  "postgres://x.example.com",
  "redis://x.example.com",
];

/** Whether the program reads it: with one of some values its settings are others. */
export function isRead(variable: string): boolean {
  const directory = tempDir();
  const file = path.join(directory, "empty.toml");
  writeFileSync(file, "");
  // Some are read only beside the address of a database.
  const fleet = /^VEDETTE_FLEETS__.+?__/.exec(variable)?.[0];
  const base: Record<string, string> = {
    ...(!variable.startsWith("DATABASE_URL") && { DATABASE_URL: "postgres://base.example.com" }),
    ...(fleet !== undefined && { [`${fleet}DRIVER`]: "docker" }),
  };
  const without = JSON.stringify(readConfig({ file, environment: base }));
  return samples.some((value) => {
    try {
      const environment = { ...base, ...valued(variable, value, directory) };
      return JSON.stringify(readConfig({ file, environment })) !== without;
    } catch {
      return false;
    }
  });
}

/** A secret by a file, as it is mounted. */
function valued(variable: string, value: string, directory: string): Record<string, string> {
  if (!variable.endsWith("_FILE")) return { [variable]: value };
  const file = path.join(directory, "secret");
  writeFileSync(file, value);
  return { [variable]: file };
}
