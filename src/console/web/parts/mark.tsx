/** A sentinel's mark and a state's sign, for use in text. Decorative: there is always text beside them. */
import type { SentinelMark } from "#console/contract.ts";
import { markColours } from "#console/web/parts/marks.ts";

const paths: Record<SentinelMark, { solid?: string; line?: string; cut?: string }> = {
  w: { line: "M1 1h10v10H1z" },
  p: { line: "M1 1h10v10H1z", solid: "M1 6h10v5H1z" },
  s: { solid: "M0 0h12v12H0z" },
  f: { solid: "M0 0h12v12H0z", cut: "M3 3l6 6M9 3l-6 6" },
  r: { solid: "M0 0h12v4.3H0zM0 7.7h12V12H0z" },
  n: { solid: "M0 0h4.3v12H0zM7.7 0H12v12H7.7z" },
  l: { solid: "M0 4h12v4H0z" },
  o: { solid: "M3.5 3.5h5v5h-5z" },
  x: { line: "M1 1h10v10H1zM3 3l6 6M9 3l-6 6" },
};

export function Mark({ mark }: { mark: SentinelMark }) {
  const { solid, line, cut } = paths[mark];
  return (
    <svg class={`mark c-${markColours[mark]}`} viewBox="0 0 12 12" aria-hidden="true">
      {solid !== undefined && <path d={solid} fill="currentColor" />}
      {line !== undefined && <path d={line} fill="none" stroke="currentColor" stroke-width="1.6" />}
      {cut !== undefined && <path class="cut" d={cut} fill="none" stroke-width="1.8" />}
    </svg>
  );
}

export type Tone = "good" | "bad" | "warn" | "info" | "calm" | "mute";

const signs: Record<Tone, string> = {
  good: "M3 8.5l3.5 3.5L13 5",
  bad: "M4 4l8 8M12 4l-8 8",
  warn: "M8 3v6M8 12v1.4",
  info: "M4 8h8M9 4.5L12.5 8 9 11.5",
  calm: "M12 8H4M7 4.5L3.5 8 7 11.5",
  mute: "M4.5 8h7",
};

/** A small sign in a disc: shape and colour both express the tone. */
export function Sign({ tone }: { tone: Tone }) {
  return (
    <svg class={`sign t-${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="8" fill="currentColor" />
      <path class="cut" d={signs[tone]} fill="none" stroke-width="2" />
    </svg>
  );
}

type Shown = { state: string; failed: number; outcome?: string | null | undefined };

export function toneOfState({ state, failed, outcome }: Shown): Tone {
  if (outcome === "rolled_back") return "calm";
  if (state === "completed") return failed > 0 ? "warn" : "good";
  if (state === "paused") return "bad";
  if (state === "in_progress") return "info";
  return state === "rolling_back" ? "calm" : "mute";
}
