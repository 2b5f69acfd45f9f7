/** Lengths of time as people write them: `500ms`, `2s`, `15m`, `36h`, `7d`. */

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds of `2s` or `1.5h`; undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
}

/** Formats a duration for people, in the largest suitable unit, with three digits: `340 ms`, `1.2 s`, `26 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 2 * unitMs.m) return `${trim(ms / unitMs.s)} s`;
  if (ms < 2 * unitMs.h) return `${trim(ms / unitMs.m)} min`;
  if (ms < 2 * unitMs.d) return `${trim(ms / unitMs.h)} h`;
  return `${trim(ms / unitMs.d)} days`;
}

/** The time between two moments; 0 when the clock was set back in between. */
export function formatSpan(from: string | number, to: string | number): string {
  return formatDuration(Math.max(0, new Date(to).getTime() - new Date(from).getTime()));
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}
