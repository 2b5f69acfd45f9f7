/** Keeps an alert manager in step with the routes: how it stands, and what brings it there. */
import { readText, restoreText, writeText } from "#routing/tokens/mounted-file.ts";
import { diffConfigs, type SettingChange } from "./diff.ts";
import { awaitConfig, hashConfig, type RunningConfig } from "./running.ts";

export type ManagedAlertmanager = {
  /** The configuration as the routes have it. */
  wanted: string;
  /** Empty: the file is kept elsewhere, and only what runs is compared. */
  file: string;
  /** undefined: nobody says where it is reached. */
  running: RunningConfig | undefined;
};

/**
 * `not_reloaded`: it works with another configuration than its file's; `refused`: it does not take its
 * file; `unknown`: it does not answer, for the reason given; `not_asked`: nobody says where it is.
 */
type RunningVerdict = "in_step" | "not_reloaded" | "refused" | "unknown" | "not_asked";

export type Comparison = {
  /** What differs in the file. */
  changes: SettingChange[];
  running: RunningVerdict;
  /** Why it is unknown. */
  reason?: string;
  /** Both are as the routes have them, as far as anyone can tell. */
  isInStep: boolean;
};

/** Changes nothing. Throws when the file cannot be read. */
export async function compare({ wanted, file, running }: ManagedAlertmanager): Promise<Comparison> {
  const found = file === "" ? wanted : readText(file);
  const changes = diffFile(found, wanted, file);
  const told = await askRunning(running, found);
  const isInStep = changes.length === 0 && ["in_step", "not_asked"].includes(told.running);
  return { changes, ...told, isInStep };
}

function diffFile(found: string | null, wanted: string, file: string): SettingChange[] {
  try {
    return diffConfigs(found, wanted);
  } catch (cause) {
    // The parser's message quotes the file.
    throw new Error(`${file} is no YAML; put it right or remove it`, { cause });
  }
}

async function askRunning(
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
  /** How long it may take until it works with the file. */
  withinMs: number;
};

export type SyncResult = {
  outcome: "in_step" | "reloaded" | "written";
  changes: SettingChange[];
  /** false: nobody could ask whether it works with the file now. */
  isConfirmed: boolean;
};

/**
 * Writes the file where it differs, has the alert manager read it, and waits until it works with it.
 * When it does not, the old file is put back and read again, and the error says so.
 */
export async function bringInStep(bringing: SyncOrder): Promise<SyncResult> {
  const { wanted, file, running } = bringing;
  if (file === "") throw new Error("set config_file first: the file that the alert manager reads");
  const { changes, isInStep } = await compare(bringing);
  const isConfirmed = running !== undefined;
  if (isInStep) return { outcome: "in_step", changes, isConfirmed };
  const previous = readText(file);
  // Where the file says the same already only the reload is missing: people's comments stay.
  const text = changes.length === 0 && previous !== null ? previous : wanted;
  try {
    if (text !== previous) writeText(file, text);
    await bringing.reload();
    if (running !== undefined) await awaitConfig(running, text, bringing.withinMs);
  } catch (cause) {
    throw await putBack(bringing, previous, cause as Error);
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
    // Without a file there is nothing to go back to: it goes on with what it has.
    if (previous !== null) await reload();
    return new Error(`${cause.message}; the old configuration is back in place`, { cause });
  } catch (error) {
    const failure = (error as Error).message;
    return new Error(`${cause.message}; and not everything could be put back: ${failure}`, {
      cause,
    });
  }
}
