/** Two rollouts side by side; on a phone one below the other, property by property. */
import type { PastRollout } from "#console/contract.ts";
import { counts } from "#console/web/charts/axis.ts";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { duration, sentinels, shortImage } from "#console/web/format.ts";
import { CompareTable, nameOf } from "#console/web/history/compare-table.tsx";
import { Missing } from "#console/web/parts/missing.tsx";
import { Waiting } from "#console/web/parts/notice.tsx";
import { Link, path } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";
import { useTitle } from "#console/web/use-title.ts";

export function ComparePage() {
  const [, , first = "", second = ""] = path.value.split("/");
  const one = useRead("past-rollout", { rollout_id: first });
  const two = useRead("past-rollout", { rollout_id: second });
  if (one.isMissing || two.isMissing) {
    return <NotBoth id={one.isMissing ? first : second} />;
  }
  if (one.data === undefined || two.data === undefined) {
    return <Waiting error={one.error ?? two.error} />;
  }
  return <Compared earlier={one.data} later={two.data} />;
}

function NotBoth({ id }: { id: string }) {
  return (
    <Missing title="Rollout not found" back={{ to: "/history", words: "All rollouts" }}>
      There is no rollout <span class="mono">{id}</span> to compare with.
    </Missing>
  );
}

type Both = { earlier: PastRollout; later: PastRollout };

function Compared({ earlier, later }: Both) {
  useTitle(`${versionOf(earlier)} and ${versionOf(later)} · History`);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Two rollouts</h1>
          <p>
            <Link to="/history">All rollouts</Link>
          </p>
        </div>
      </div>
      <div class="sides">
        <CompareTable earlier={earlier} later={later} />
        <Progress earlier={earlier} later={later} />
      </div>
    </>
  );
}

function Progress({ earlier, later }: Both) {
  return (
    <section class="panel" aria-labelledby="compare-progress">
      <header class="panel-head">
        <h2 id="compare-progress">Sentinels done, from the start of each</h2>
      </header>
      <ProgressChart
        runs={[
          { name: `A ${nameOf(earlier)}`, colour: "--calm-fill", progress: earlier.progress },
          { name: `B ${nameOf(later)}`, colour: "--info-fill", progress: later.progress },
        ]}
      />
    </section>
  );
}

function versionOf({ detail }: PastRollout): string {
  return shortImage(detail.status.image ?? "");
}

/** The results of rollouts over time, each from its own start. */
type ChartLine = { name: string; colour: string; progress: PastRollout["progress"] };

function ProgressChart({ runs }: { runs: readonly ChartLine[] }) {
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
