/** 24 hours in bars of a quarter of an hour: a taller bar is worse, so that the strip does not depend on colour. */
import { when } from "#console/web/times.ts";
import type { CheckView } from "#monitor/results/contract.ts";

type Piece = CheckView["strip"][number];
type Grade = keyof typeof heights;

const heights = { none: 3, ok: 10, degraded: 16, failed: 24 } as const;
const letters: readonly (readonly [string, Grade])[] = [
  ["-", "none"],
  ["o", "ok"],
  ["d", "degraded"],
  ["f", "failed"],
];
const gradeOf = new Map(letters);

export function Strip({ check }: { check: Pick<CheckView, "name" | "strip" | "bars"> }) {
  const { name, strip, bars } = check;
  const grades =
    bars === undefined
      ? strip.map(({ grade }) => grade ?? "none")
      : [...bars].map((letter) => gradeOf.get(letter) ?? "none");
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${grades.length * 4} 24`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(name, grades)}
    >
      {bars === undefined
        ? strip.map((piece, i) => <Bar key={piece.starts_at} piece={piece} x={i * 4} />)
        : letters.map(([letter, grade]) => (
            <path key={letter} class={`g-${grade}`} d={outline(grades, grade)} />
          ))}
    </svg>
  );
}

/** All bars of a grade in one shape: a list of many strips is drawn in a few. */
function outline(grades: readonly Grade[], of: Grade): string {
  const height = heights[of];
  const bars = grades.map((grade, i) =>
    grade === of ? `M${i * 4} ${24 - height}h3v${height}h-3z` : "",
  );
  return bars.join("");
}

function Bar({ piece, x }: { piece: Piece; x: number }) {
  const { grade, starts_at, runs, failed_runs } = piece;
  const height = heights[grade ?? "none"];
  const found = grade === null ? "no results" : `${runs} runs, ${failed_runs} failed`;
  return (
    <rect class={`g-${grade ?? "none"}`} x={x} y={24 - height} width="3" height={height}>
      <title>{`${when(starts_at)}: ${found}`}</title>
    </rect>
  );
}

function describe(name: string, grades: readonly Grade[]): string {
  const count = (of: Grade) => grades.filter((grade) => grade === of).length;
  const quarters = (count: number) => `${count} quarter hour${count === 1 ? "" : "s"}`;
  return `${name}, the last 24 hours: ${quarters(count("failed"))} with failures, ${count("degraded")} slow, ${count("none")} without results`;
}
