/** Asks for fewer lines when the last ones are so long that a limit of bytes is before their end. */
import type { LogCall, LogTail } from "./driver.ts";

/** `stop`: as of `readEnd` of `src/kernel/body.ts`. */
export type LogPart = { tail: LogTail; stop: "end" | "limit" | "error" };

const fewer = [10, 1];

/** Throws what the first `read` throws. The signal is that of all of them. */
export async function reachEnd(
  call: LogCall,
  read: (call: LogCall) => Promise<LogPart>,
): Promise<LogTail> {
  const { tail, stop } = await read(call);
  if (stop !== "limit" || tail.absent !== undefined) return tail;
  for (const lines of fewer.filter((count) => count < call.lines)) {
    if (call.signal.aborted) break;
    const next = await read({ ...call, lines }).catch(() => undefined);
    if (next === undefined || next.tail.absent !== undefined || next.stop === "error") break;
    if (next.stop === "end" && next.tail.text !== "") return next.tail;
  }
  return { ...tail, note: notReached };
}

const notReached = "the end of the log was not reached: its lines are too long";
