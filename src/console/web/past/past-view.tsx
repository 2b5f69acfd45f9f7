/** A rollout's past: what ran, the response times, and the grid, all at one moment. */
import { useEffect, useMemo } from "preact/hooks";
import type { PastRollout } from "#console/contract.ts";
import { toStore } from "#console/fleet-store.ts";
import type { PastMark, RolloutPast } from "#console/past/contract.ts";
import { FleetView } from "#console/web/fleet/fleet-view.tsx";
import { type Fleet, redraw } from "#console/web/live.ts";
import { Latency } from "./latency.tsx";
import { marksAt, openPast } from "./moments.ts";
import { Timeline } from "./timeline.tsx";
import { useMoment } from "./use-moment.ts";

type Props = Pick<PastRollout, "detail" | "fleet"> & { coded: RolloutPast };

export function PastView({ detail, fleet: columns, coded }: Props) {
  const past = useMemo(() => openPast(coded), [coded]);
  const fleet = useMemo(() => toStore(columns), [columns]);
  const reasons = useMemo(() => new Map(fleet.reasons), [fleet]);
  const shown = useMoment(past);
  useEffect(() => {
    showMoment(fleet, marksAt(past, shown.moment), reasons);
  }, [fleet, past, reasons, shown.moment]);
  const { status } = detail;
  return (
    <div class="past">
      <Timeline past={past} shown={shown} messages={detail.messages} />
      <FleetView fleet={fleet} rolloutId={status.rollout_id} isPast />
      <Latency past={past} moment={shown.moment} gate={detail.gate_checks ?? []} />
    </div>
  );
}

/** `reasons`: those of the end, which are shown only while their sentinel is marked so. */
function showMoment(
  fleet: Fleet,
  marks: readonly PastMark[],
  reasons: ReadonlyMap<number, string>,
): void {
  const changed = marks.flatMap((mark, index) => (fleet.marks[index] === mark ? [] : [index]));
  for (const index of changed) fleet.marks[index] = marks[index] ?? "w";
  fleet.reasons.clear();
  for (const [index, reason] of reasons) {
    const mark = marks[index];
    if (mark === "f" || mark === "n") fleet.reasons.set(index, reason);
  }
  redraw(changed);
}
