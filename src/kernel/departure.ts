/** Announces that this process is about to end, so that load balancers stop sending it requests. */
import { pause } from "./async.ts";

export type Departure = {
  isAnnounced: () => boolean;
  announced: Promise<void>;
  /** Resolves `seconds` after the announcement, or as soon as the program fails. */
  announce: (seconds: number) => Promise<void>;
};

/** `failed` resolves when the program has failed: that announces it as well. */
export function createDeparture(failed: Promise<unknown>): Departure {
  let isAnnounced = false;
  const announced = Promise.withResolvers<void>();
  const note = () => {
    isAnnounced = true;
    announced.resolve();
  };
  void failed.then(note);
  return {
    isAnnounced: () => isAnnounced,
    announced: announced.promise,
    announce: async (seconds) => {
      note();
      const waiting = new AbortController();
      const over = pause(seconds * 1_000, waiting.signal);
      await Promise.race([over, failed]).finally(() => waiting.abort());
    },
  };
}
