/** The results of rollouts over time, each from its own start. */
import type { PastRollout } from "#console/contract.ts";
import { counts } from "#console/web/charts/axis.ts";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { duration, sentinels } from "#console/web/format.ts";

export type ChartLine = { name: string; colour: string; progress: PastRollout["progress"] };

export function ProgressChart({ runs }: { runs: readonly ChartLine[] }) {
  const times = [...new Set(runs.flatMap(({ progress }) => [0, ...progress.seconds]))].sort(
    (a, b) => a - b,
  );
  const last = times.at(-1) ?? 0;
  if (last === 0) return <p class="quiet">No sentinel has a result.</p>;
  return (
    <LazyChart
      description={`Sentinels done over time. ${runs.map(describe).join(" ")}`}
      times={times}
      span={{ from: 0, to: last }}
      lines={runs.map(({ name, colour, progress }) => ({
        label: name,
        colour,
        values: times.map((second) => doneBy(progress, second)),
      }))}
      unit={counts}
      isElapsed
    />
  );
}

/** null after the end of the rollout: its line ends there. */
function doneBy({ seconds, done }: ChartLine["progress"], second: number): number | null {
  if (second > (seconds.at(-1) ?? 0)) return null;
  const after = seconds.findIndex((at) => at > second);
  const known = after === -1 ? seconds.length - 1 : after - 1;
  return known < 0 ? 0 : (done[known] ?? 0);
}

function describe({ name, progress: { seconds, done } }: ChartLine): string {
  return `${name}: ${sentinels(done.at(-1) ?? 0)} within ${duration(seconds.at(-1) ?? 0)}.`;
}
