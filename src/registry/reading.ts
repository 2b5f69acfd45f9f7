/** Reads many small things about one image, within limits, and notes what it could not read. */
import pLimit from "p-limit";
import { ProblemError } from "#kernel/problem.ts";
import { TooLarge } from "./refusal.ts";

export type Reading = ReturnType<typeof createReading>;

const most = 50;
const atOnce = 4;
const largest = 1_024 * 1_024;
const mostBytes = 8 * largest;

export function createReading() {
  let left = mostBytes;
  let omitted = 0;
  const troubles: string[] = [];

  /** undefined: it could not be read, which is noted. */
  const settle = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (isOfImage(error)) omitted += 1;
      else troubles.push((error as Error).message);
      return undefined;
    }
  };

  return {
    settle,

    /** Of those that could be read, the first 50. */
    async each<One, T>(list: readonly One[], read: (one: One) => Promise<T>): Promise<T[]> {
      omitted += Math.max(0, list.length - most);
      const limit = pLimit(atOnce);
      const reading = list.slice(0, most).map((one) => limit(() => settle(() => read(one))));
      return (await Promise.all(reading)).filter((found) => found !== undefined);
    },

    /** Throws `TooLarge` for more than 1 MiB, and for more than 8 MiB in all. */
    spend(bytes: number): void {
      if (bytes > Math.min(largest, left)) throw new TooLarge("it is too large");
      left -= bytes;
    },

    /** How many were not read because they are too many, too large or gone; and why others were not. */
    notes: () => ({ omitted, troubles }),
  };
}

/** Whether it is due to what was pushed, and not to the registry. */
function isOfImage(error: unknown): boolean {
  if (error instanceof TooLarge) return true;
  const { code = "" } = error instanceof ProblemError ? error : {};
  return ["image_not_found", "image_unreadable"].includes(code);
}
