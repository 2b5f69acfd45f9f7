/** How long a deploy was really watched: what passed while nobody could look does not count. Pure. */

/** The last look: when it ended (Unix ms), and how long the deploy was watched until then. */
export type Watch = { atMs: number; watchedMs: number };

/** A look may come so much later than it was due before the time between is nobody's. */
const slackMs = 5_000;

/** The deadline's own clock is not quite ours. */
const tolerance = 0.9;

/** The watch as it is when the next look begins, which was due `pollMs` after the last one. */
export function extendWatch(
  { atMs, watchedMs }: Watch,
  next: { nowMs: number; pollMs: number; timeoutMs: number },
): Watch {
  const { nowMs, pollMs, timeoutMs } = next;
  const gapMs = Math.max(0, nowMs - atMs);
  const isUnbroken = gapMs <= pollMs + Math.min(slackMs, timeoutMs / 4);
  return { atMs: nowMs, watchedMs: watchedMs + (isUnbroken ? gapMs : pollMs) };
}

/** Whether a deploy was watched for all of its time, so that it may be judged. */
export function isWatchedEnough(watch: Watch | undefined, timeoutMs: number): boolean {
  // A deploy that an older version began has no watch.
  return watch === undefined || watch.watchedMs >= timeoutMs * tolerance;
}
