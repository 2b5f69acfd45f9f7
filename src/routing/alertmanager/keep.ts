/** Compares an alert manager's configuration with the routes, and brings it in step with them. */
import { readText, restoreText, writeText } from "#routing/tokens/mounted-file.ts";
import { diffConfigs, type SettingChange } from "./diff.ts";
import { awaitConfig, hashConfig, type RunningConfig } from "./running.ts";

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
