/** Decides how many threads serve the public API, and the share of each. */
import { availableParallelism, totalmem } from "node:os";
import { canSharePorts } from "#kernel/listen.ts";

/** More threads than this are started only where the settings say so. */
const usualMost = 16;

/** The memory of a machine or a container for each thread, so that all of them leave room for what else there is. */
const bytesPerThread = 512 * 1024 * 1024;

/** Connections to Postgres that the further threads have together, and each of them at least and at most. */
const connections = { together: 20, least: 3, most: 5 };

/** Counts the threads of the API with the main one. Throws when the settings want more than the system can. */
export function threadsOf({ threads }: { threads: number }, platform = process.platform): number {
  if (threads > 1 && !canSharePorts(platform)) {
    throw new Error(
      `api.threads: ${threads} threads cannot share a port on this system; leave it out, or set it to 1`,
    );
  }
  if (threads > 0) return threads;
  if (!canSharePorts(platform)) return 1;
  const forMemory = Math.floor(memoryBytes() / bytesPerThread);
  return Math.max(1, Math.min(usualMost, availableParallelism(), forMemory));
}

/** Returns the machine's memory, or the container's if that is limited. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Returns the most connections to Postgres that each further thread has. */
export function connectionsPerThread(threads: number): number {
  const { together, least, most } = connections;
  return Math.min(most, Math.max(least, Math.floor(together / Math.max(1, threads - 1))));
}
