/** The log files of local sentinels, which grow while they are read. */
import { type FileHandle, open } from "node:fs/promises";
import { maxRawLog } from "#kernel/log.ts";
import type { LogTail } from "./driver.ts";
import type { SentinelState, StateFiles } from "./process-state.ts";

/** `deployId`: of the deploy whose process is asked for; absent: what serves. */
export async function readProcessLog(
  state: SentinelState,
  deployId: string | undefined,
  { files, rootKey }: { files: Pick<StateFiles, "logFile">; rootKey: string },
): Promise<LogTail> {
  const of = chooseLog(state, deployId);
  if (of === undefined) return { absent: "another deploy has followed" };
  const text = await readEndOf(files.logFile(state.id, of));
  if (text === undefined) return { absent: "no process of it has been started" };
  // The one secret that every sentinel here is given.
  return { text: rootKey === "" ? text : text.replaceAll(rootKey, "***") };
}

function chooseLog(state: SentinelState, deployId: string | undefined) {
  if (deployId === undefined) return "serving";
  if (deployId !== state.deployId) return undefined;
  if (state.failure !== null) return "failed";
  return state.runningImage === state.image ? "serving" : "next";
}

/** undefined: there is no such file. */
async function readEndOf(file: string): Promise<string | undefined> {
  const handle = await openIfThere(file);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size, maxRawLog));
    const { bytesRead } = await handle.read({ buffer, position: size - buffer.length });
    return buffer.subarray(0, bytesRead).toString();
  } finally {
    await handle.close();
  }
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
