/** Words about an alert that every receiver reads. */
import { formatDuration } from "#kernel/duration.ts";

type Rollout = { id: string; wave: number; endedAtMs: number | null };

/** Which rollout may have caused an alert that opened at `openedAtMs`. */
export function describeRollout({ id, wave, endedAtMs }: Rollout, openedAtMs: number): string {
  if (endedAtMs === null) return `During rollout ${id}, wave ${wave}`;
  return `Rollout ${id} ended ${describeSpan(endedAtMs, openedAtMs)} before`;
}

/** The time between two moments; 0 when the clock was set back in between. */
export function describeSpan(fromMs: number, toMs: number): string {
  return formatDuration(Math.max(0, toMs - fromMs));
}
