/** A rollout's past: what ran, the response times, and the grid, all at one moment. */
import { useEffect, useMemo } from "preact/hooks";
import type { PastRollout } from "#console/contract.ts";
import { toStore } from "#console/fleet-store.ts";
import type { RolloutPast } from "#console/past/contract.ts";
import { FleetView } from "#console/web/fleet/fleet-view.tsx";
import { Latency } from "./latency.tsx";
import { marksAt, openPast } from "./moments.ts";
import { showMoment } from "./show-moment.ts";
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
