/** Compares an alert manager's configuration with the routes, and brings it in step with them. */
import { parseYaml } from "#kernel/documents.ts";
import { readText, restoreText, writeText } from "#routing/tokens/mounted-file.ts";
import { awaitConfig, hashConfig, type RunningConfig } from "./running.ts";

/** null: the field is not set. */
type SettingChange = { path: string; before: string | null; after: string | null };

/** `before` null: there is no file. Empty when they mean the same. Throws when `before` is no YAML. */
export function diffConfigs(before: string | null, after: string): SettingChange[] {
  const old = before === null ? new Map<string, string>() : flatten(parseYaml(before));
  const wanted = flatten(parseYaml(after));
  const paths = [...new Set([...old.keys(), ...wanted.keys()])];
  return paths.flatMap((path) => {
    const [was = null, is = null] = [old.get(path), wanted.get(path)];
    return was === is ? [] : [{ path, before: was === null ? null : mask(path, was), after: is }];
  });
}

/** Fields that we write ourselves. A value that someone else has put into the file may be a secret. */
const harmless = new Set([
  ...["receiver", "matchers", "name", "send_resolved", "follow_redirects", "credentials_file"],
  ...["group_by", "group_wait", "group_interval", "repeat_interval", "in order"],
  ...["active_time_intervals", "start_time", "end_time", "weekdays", "location"],
  ...["source_matchers", "target_matchers", "equal"],
]);

function mask(path: string, value: string): string {
  const field = /([\w ]+?)(?:\[\d+\])?$/.exec(path)?.[1]?.trim() ?? "";
  const name = field.endsWith("in order") ? "in order" : field;
  if (name === "url") return value.replace(/^(\w+:\/\/)[^/?#]*@/, "$1").replace(/[?#].*$/s, "");
  return harmless.has(name) ? value : "(not shown)";
}

type Fields = Map<string, string>;

function flatten(value: unknown, path = "", fields: Fields = new Map()): Fields {
  if (Array.isArray(value)) flattenList(value, path, fields);
  else if (typeof value === "object" && value !== null) {
    for (const [name, child] of Object.entries(value)) {
      flatten(child, path === "" ? name : `${path}.${name}`, fields);
    }
  } else if (value !== null && value !== undefined) fields.set(path, String(value));
  return fields;
}

/** Routes and receivers are identified by name, so that an inserted one does not shift the others. */
function flattenList(items: readonly unknown[], path: string, fields: Fields): void {
  const names = items.map(nameOf);
  const isNamed = names.every((name, i) => name !== undefined && names.indexOf(name) === i);
  items.forEach((item, i) => {
    flatten(item, `${path}[${isNamed ? names[i] : i}]`, fields);
  });
  // The first matching route counts, so their order matters; that of receivers does not.
  if (isNamed && path.endsWith("routes")) fields.set(`${path} in order`, names.join(", "));
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { name, receiver } = item as { name?: unknown; receiver?: unknown };
  return [name, receiver].find((text) => typeof text === "string") as string | undefined;
}

export type ManagedAlertmanager = {
  /** The configuration that the routes result in. */
  wanted: string;
  /** Empty: the file is on another machine, and only the running configuration is compared. */
  file: string;
  /** undefined: no url is set. */
  running: RunningConfig | undefined;
};

/** `not_reloaded`: it runs another; `refused`: it rejected the last; `unknown`: unreadable; `not_asked`: no url. */
type RunningVerdict = "in_step" | "not_reloaded" | "refused" | "unknown" | "not_asked";

export type Comparison = {
  changes: SettingChange[];
  running: RunningVerdict;
  /** Why it is unknown. */
  reason?: string;
  /** Both match the routes; without a url the file alone is compared. */
  isInStep: boolean;
};

/** Changes nothing. Throws when the file cannot be read. */
export async function compare({ wanted, file, running }: ManagedAlertmanager): Promise<Comparison> {
  const found = file === "" ? wanted : readText(file);
  const changes = diffFile(found, wanted, file);
  const verdict = await compareRunning(running, found);
  const isInStep = changes.length === 0 && ["in_step", "not_asked"].includes(verdict.running);
  return { changes, ...verdict, isInStep };
}

function diffFile(found: string | null, wanted: string, file: string): SettingChange[] {
  try {
    return diffConfigs(found, wanted);
  } catch (cause) {
    // Without the parser's message, which quotes the file.
    throw new Error(`${file} is no YAML; correct it or remove it`, { cause });
  }
}

async function compareRunning(
  running: RunningConfig | undefined,
  text: string | null,
): Promise<Pick<Comparison, "running" | "reason">> {
  if (running === undefined) return { running: "not_asked" };
  try {
    const { configHash, isLastReloadGood } = await running.readState();
    if (!isLastReloadGood) return { running: "refused" };
    const isSame = text !== null && configHash === hashConfig(text);
    return { running: isSame ? "in_step" : "not_reloaded" };
  } catch (error) {
    return { running: "unknown", reason: (error as Error).message };
  }
}

export type SyncOrder = ManagedAlertmanager & {
  reload: () => Promise<void>;
  /** Time until it runs the file's configuration. */
  withinMs: number;
};

export type SyncResult = {
  outcome: "in_step" | "reloaded" | "written";
  changes: SettingChange[];
  /** false: no url is set, so whether it runs the file's configuration was not checked. */
  isConfirmed: boolean;
};

/** Writes, reloads and waits until it runs the new one; else restores the old file, reloads it, and says so. */
export async function bringInStep(order: SyncOrder): Promise<SyncResult> {
  const { wanted, file, running } = order;
  if (file === "") throw new Error("set config_file first: the file that the alert manager reads");
  const { changes, isInStep } = await compare(order);
  const isConfirmed = running !== undefined;
  if (isInStep) return { outcome: "in_step", changes, isConfirmed };
  const previous = readText(file);
  // A file that means the same only needs the reload: it is not rewritten, so that comments in it survive.
  const text = changes.length === 0 && previous !== null ? previous : wanted;
  try {
    if (text !== previous) writeText(file, text);
    await order.reload();
    if (running !== undefined) await awaitConfig(running, text, order.withinMs);
  } catch (cause) {
    throw await putBack(order, previous, cause as Error);
  }
  const outcome = changes.length > 0 ? "written" : "reloaded";
  return { outcome, changes, isConfirmed };
}

async function putBack(
  { file, reload }: SyncOrder,
  previous: string | null,
  cause: Error,
): Promise<Error> {
  try {
    restoreText(file, previous);
    // Without a previous file there is nothing to reload: it continues with the configuration it has.
    if (previous !== null) await reload();
    return new Error(`${cause.message}; the old configuration is back in place`, { cause });
  } catch (error) {
    const failure = (error as Error).message;
    return new Error(`${cause.message}; and not everything could be put back: ${failure}`, {
      cause,
    });
  }
}

/** Lines for people: the differences in the file, then which configuration the alert manager runs. */
export function describeComparison({ changes, running, reason }: Comparison): string[] {
  const verdict = verdicts[running];
  return [...changes.map(describeChange), reason === undefined ? verdict : `${verdict}: ${reason}`];
}

/** The present value and the wanted one. */
export function describeChange({ path, before, after }: SettingChange): string {
  return `${path}: ${before ?? "(not set)"} → ${after ?? "(not set)"}`;
}

const verdicts: Record<Comparison["running"], string> = {
  in_step: "The alert manager runs the configuration of its file.",
  not_reloaded: "The alert manager runs another configuration: it has to reload.",
  refused: "The alert manager rejected its configuration at the last reload.",
  unknown: "The configuration that the alert manager runs is unknown",
  not_asked: "The alert manager's running configuration was not read: no url is set.",
};
