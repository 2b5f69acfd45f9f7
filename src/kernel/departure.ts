/** Announces that this process is about to end, so that load balancers stop sending it requests. */
import { pause } from "./pause.ts";

export type Departure = {
  isAnnounced: () => boolean;
  /** Resolves `seconds` after the announcement, or as soon as the program fails. */
  announce: (seconds: number) => Promise<void>;
};

/** `failed` resolves when the program has failed: that announces it as well. */
export function createDeparture(failed: Promise<unknown>): Departure {
  let isAnnounced = false;
  const note = () => {
    isAnnounced = true;
  };
  void failed.then(note);
  return {
    isAnnounced: () => isAnnounced,
    announce: async (seconds) => {
      note();
      const waiting = new AbortController();
      const over = pause(seconds * 1_000, waiting.signal);
      await Promise.race([over, failed]).finally(() => waiting.abort());
    },
  };
}
