/** The state of each sentinel of the process driver, in one file each, so that it survives a restart. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { readIfThere, writeFileAtomically } from "#kernel/files.ts";

const Child = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  bootId: z.string().optional(),
  healthPort: z.int().positive(),
  privateToken: z.string(),
  /** Identifies its root key without revealing it. */
  keyMark: z.string(),
});
export type Child = z.infer<typeof Child>;

const SentinelState = z.object({
  id: z.string(),
  region: z.string(),
  publicPort: z.int().positive(),
  image: z.string(),
  runningImage: z.string(),
  deployId: z.string().nullable(),
  /** Why the last replacement failed; null while one is in progress, and after success. */
  failure: z.string().nullable(),
  serving: Child.nullable(),
  /** The process that is being started to replace it. */
  candidate: Child.nullable(),
});
export type SentinelState = z.infer<typeof SentinelState>;

export type StateFiles = {
  readAll: () => SentinelState[];
  write: (state: SentinelState) => void;
  logFile: (id: string, of: LogOf) => string;
  /** The process that is being started logs from here on to a file of its own, which is empty. */
  beginLog: (id: string) => string;
  /** It serves now, or has failed: its log takes the place of the one before. */
  moveLog: (id: string, to: Exclude<LogOf, "next">) => void;
};

/** The process that serves, the one that is being started to replace it, or the last one that failed to. */
type LogOf = "serving" | "next" | "failed";

export function createStateFiles(directory: string): StateFiles {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const logFile = (id: string, of: LogOf) =>
    path.join(directory, of === "serving" ? `${id}.log` : `${id}.${of}.log`);
  return {
    readAll: () =>
      existsSync(directory)
        ? readdirSync(directory)
            .filter((name) => name.endsWith(".json"))
            .sort()
            .map((name) => readState(path.join(directory, name)))
        : [],
    write: (state) =>
      writeFileAtomically(path.join(directory, `${state.id}.json`), JSON.stringify(state)),
    logFile,
    beginLog: (id) => {
      for (const end of ["next", "failed"] as const) rmSync(logFile(id, end), { force: true });
      return logFile(id, "next");
    },
    moveLog: (id, to) => {
      const from = logFile(id, "next");
      if (existsSync(from)) renameSync(from, logFile(id, to));
    },
  };
}

function readState(file: string): SentinelState {
  const text = readIfThere(file) ?? "";
  try {
    return SentinelState.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged; delete it to set this sentinel up anew`, { cause });
  }
}
