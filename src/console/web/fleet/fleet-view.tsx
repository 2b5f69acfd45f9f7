/** The fleet by region, with a legend, and the details of the selected sentinel. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SentinelMark } from "#console/contract.ts";
import { regionCounts } from "#console/counts.ts";
import { count, sentinels } from "#console/web/format.ts";
import { type Fleet, fleetTick } from "#console/web/live.ts";
import { Mark } from "#console/web/parts/mark.tsx";
import { markNames, namesWithoutRollout } from "#console/web/parts/marks.ts";
import { picked, pointed, Region } from "./region.tsx";
import { SentinelPanel } from "./sentinel-panel.tsx";

type Props = {
  fleet: Fleet;
  rolloutId: string | null;
  /** True if the rollout is a past one: what its sentinels have now may be that of a later one. */
  isPast?: boolean;
};

export function FleetView({ fleet, rolloutId, isPast = false }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another fleet has other sentinels
  useEffect(() => {
    picked.value = undefined;
    pointed.value = undefined;
  }, [fleet]);
  let first = 0;
  const places = fleet.regions.map(({ name, size }) => {
    const place = { name, first, count: size };
    first += size;
    return place;
  });
  return (
    <section class="panel fleet" aria-labelledby="fleet-title">
      <header class="panel-head">
        <h2 id="fleet-title">Fleet</h2>
        <Legend fleet={fleet} names={rolloutId === null ? namesWithoutRollout : markNames} />
      </header>
      <div ref={box}>
        {width > 0 &&
          places.map((place) => (
            <div class="region" key={place.name}>
              <RegionHead fleet={fleet} {...place} />
              <Region fleet={fleet} width={width} {...place} />
            </div>
          ))}
      </div>
      <Pointed fleet={fleet} />
      {picked.value !== undefined && (
        <SentinelPanel fleet={fleet} index={picked.value} rolloutId={rolloutId} isPast={isPast} />
      )}
    </section>
  );
}

function RegionHead({
  fleet,
  name,
  first,
  count: size,
}: {
  fleet: Fleet;
  name: string;
  first: number;
  count: number;
}) {
  fleetTick.value;
  const { members, done, failed, not_reverted } = regionCounts({
    marks: fleet.marks.slice(first, first + size),
    waves: fleet.waves.slice(first, first + size),
    first,
    reasons: fleet.reasons,
  });
  return (
    <h3>
      {name}{" "}
      <span class="quiet">
        {members === 0 ? sentinels(size) : `${count(done)} of ${count(members)} done`}
      </span>
      {failed > 0 && <span class="bad-text"> · {count(failed)} failed</span>}
      {not_reverted > 0 && <span class="warn-text"> · {count(not_reverted)} not reverted</span>}
    </h3>
  );
}

const legendOrder: readonly SentinelMark[] = ["s", "p", "w", "f", "r", "n", "l", "o", "x"];

function Legend({ fleet, names }: { fleet: Fleet; names: Record<SentinelMark, string> }) {
  fleetTick.value;
  const counts = new Map<SentinelMark, number>();
  for (const mark of fleet.marks) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  return (
    <ul class="legend">
      {legendOrder
        .filter((mark) => counts.has(mark))
        .map((mark) => (
          <li key={mark}>
            <Mark mark={mark} /> {names[mark]} <b>{count(counts.get(mark) ?? 0)}</b>
          </li>
        ))}
    </ul>
  );
}

/** The sentinel under the pointer: as a note beside it, which screen readers read out. */
function Pointed({ fleet }: { fleet: Fleet }) {
  fleetTick.value;
  const at = pointed.value;
  const mark = at === undefined ? undefined : fleet.marks[at.index];
  if (at === undefined || mark === undefined) return <p id="pointed" class="visually-hidden" />;
  const wave = fleet.waves[at.index] ?? 0;
  const reason = fleet.reasons.get(at.index);
  const isLow = at.bottom > innerHeight - 120;
  const left = Math.min(Math.max(at.left, 140), innerWidth - 140);
  const style = { left: `${left}px`, top: `${isLow ? at.top - 8 : at.bottom + 8}px` };
  return (
    <div id="pointed" role="status" class={isLow ? "note above" : "note"} style={style}>
      <b>{fleet.ids[at.index]}</b> <Mark mark={mark} /> {markNames[mark]}
      {wave > 0 && <span class="quiet"> · wave {wave}</span>}
      {reason !== undefined && <div class="reason">{reason}</div>}
    </div>
  );
}

function useWidth(box: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0);
  // Before it is drawn: a grid that appears only a moment later is a page without numbers until then.
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    setWidth(Math.floor(current.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(current.clientWidth)));
    observer.observe(current);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
