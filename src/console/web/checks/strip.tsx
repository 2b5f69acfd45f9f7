/** 24 hours in bars of a quarter of an hour: a taller bar is worse, so that the strip does not depend on colour. */
import { when } from "#console/web/times.ts";
import type { CheckView } from "#monitor/results/contract.ts";

type Piece = CheckView["strip"][number];

const heights = { ok: 10, degraded: 16, failed: 24 } as const;

export function Strip({ check }: { check: Pick<CheckView, "name" | "strip"> }) {
  const { name, strip } = check;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${strip.length * 4} 24`}
      preserveAspectRatio="none"
      role="img"
      aria-label={describe(name, strip)}
    >
      {strip.map((piece, i) => (
        <Bar key={piece.starts_at} piece={piece} x={i * 4} />
      ))}
    </svg>
  );
}

function Bar({ piece, x }: { piece: Piece; x: number }) {
  const { grade, starts_at, runs, failed_runs } = piece;
  const height = grade === null ? 3 : heights[grade];
  const found = grade === null ? "no results" : `${runs} runs, ${failed_runs} failed`;
  return (
    <rect class={`g-${grade ?? "none"}`} x={x} y={24 - height} width="3" height={height}>
      <title>{`${when(starts_at)}: ${found}`}</title>
    </rect>
  );
}

function describe(name: string, strip: readonly Piece[]): string {
  const failed = strip.filter(({ grade }) => grade === "failed").length;
  const slow = strip.filter(({ grade }) => grade === "degraded").length;
  const empty = strip.filter(({ grade }) => grade === null).length;
  const quarters = (count: number) => `${count} quarter hour${count === 1 ? "" : "s"}`;
  return `${name}, the last 24 hours: ${quarters(failed)} with failures, ${slow} slow, ${empty} without results`;
}
