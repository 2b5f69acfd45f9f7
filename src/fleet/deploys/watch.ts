/** How long a deploy was really watched: time in which no process could poll does not count. Pure. */

/** The last poll: when it ended (Unix ms), and how long the deploy had been watched until then. */
export type Watch = { atMs: number; watchedMs: number };

/** How late a poll may be for the time since the last one to count as watched. */
const slackMs = 5_000;

/** Clocks differ slightly: Restate's timer sets the deadline, our clock measures the watched time. */
const tolerance = 0.9;

/** The watch when the next poll begins, which was due `pollMs` after the last one. */
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
