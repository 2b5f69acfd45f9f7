/** That this process is about to end: said for a while, so that nobody sends it anything more. */
import { setTimeout as delay } from "node:timers/promises";

export type Departure = {
  isAnnounced: () => boolean;
  /** Resolves when it has been said for `seconds`. */
  announce: (seconds: number) => Promise<void>;
};

export function createDeparture(): Departure {
  let isAnnounced = false;
  return {
    isAnnounced: () => isAnnounced,
    announce: async (seconds) => {
      isAnnounced = true;
      await delay(seconds * 1_000);
    },
  };
}
