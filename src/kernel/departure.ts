/** That this process is about to end: said for a while, so that nobody sends it anything more. */
import { pause } from "./pause.ts";

export type Departure = {
  isAnnounced: () => boolean;
  /** Resolves when it has been said for `seconds`, or at once when `failed` resolves. */
  announce: (seconds: number, failed: Promise<unknown>) => Promise<void>;
};

export function createDeparture(): Departure {
  let isAnnounced = false;
  return {
    isAnnounced: () => isAnnounced,
    announce: async (seconds, failed) => {
      isAnnounced = true;
      const said = new AbortController();
      const over = pause(seconds * 1_000, said.signal);
      await Promise.race([over, failed]).finally(() => said.abort());
    },
  };
}
