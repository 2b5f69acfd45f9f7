/** Announces that this process is about to end, so that load balancers stop sending it requests. */
import { pause } from "./pause.ts";

export type Departure = {
  isAnnounced: () => boolean;
  /** Resolves `seconds` after the announcement, or as soon as `failed` resolves. */
  announce: (seconds: number, failed: Promise<unknown>) => Promise<void>;
};

export function createDeparture(): Departure {
  let isAnnounced = false;
  return {
    isAnnounced: () => isAnnounced,
    announce: async (seconds, failed) => {
      isAnnounced = true;
      const waiting = new AbortController();
      const over = pause(seconds * 1_000, waiting.signal);
      await Promise.race([over, failed]).finally(() => waiting.abort());
    },
  };
}
