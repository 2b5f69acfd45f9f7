import { useEffect, useMemo, useState } from "preact/hooks";
import type { PastMark, PastRollout, RolloutPast } from "#console/contract.ts";
import { countsOf } from "#console/counts.ts";
import { toStore } from "#console/events.ts";
import { FleetView } from "#console/web/fleet/fleet-view.tsx";
import { shortImage } from "#console/web/format.ts";
import { type Fleet, redraw } from "#console/web/live.ts";
import { Missing, Notice, Waiting } from "#console/web/parts/blocks.tsx";
import { Latency } from "#console/web/past/latency.tsx";
import { marksAt, openPast } from "#console/web/past/moments.ts";
import { Proof } from "#console/web/past/proof.tsx";
import { Replay } from "#console/web/past/replay.tsx";
import { Timeline } from "#console/web/past/timeline.tsx";
import { useMoment } from "#console/web/past/use-moment.ts";
import { PastComparisons } from "#console/web/rollout/comparison-lazy.tsx";
import { EvidencePanel } from "#console/web/rollout/evidence.tsx";
import { ApprovalsPanel, ChoicePanel } from "#console/web/rollout/facts.tsx";
import { Failures } from "#console/web/rollout/failures.tsx";
import { Heading } from "#console/web/rollout/heading.tsx";
import { Messages } from "#console/web/rollout/messages.tsx";
import { Waves } from "#console/web/rollout/waves.tsx";
import { Link, path, useTitle } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";

export function PastRolloutPage() {
  const id = path.value.split("/")[2] ?? "";
  const [isOver, setOver] = useState(true);
  const asked = { rollout_id: id, moments: true };
  const { data, error, isMissing } = useRead("past-rollout", asked, isOver ? undefined : 5_000);
  const endedAt = data?.detail.ended_at;
  useEffect(() => setOver(endedAt !== null), [endedAt]);
  const image = data?.detail.status.image;
  useTitle(image == null ? undefined : `${shortImage(image)} · History`);
  if (isMissing) return <NoRollout id={id} />;
  if (data === undefined) return <Waiting error={error} />;
  const { detail, fleet, past } = data;
  const counts = countsOf(toStore(fleet), { total: detail.status.total, waves: detail.waves });
  return (
    <>
      <p>
        <Link to="/history">All rollouts</Link>
      </p>
      {!isOver && (
        <Notice tone="info">
          This rollout has not ended: <Link to="/">its page</Link> shows it live, with what can be
          done.
        </Notice>
      )}
      <Heading detail={detail} />
      <Failures failures={detail.failures} />
      {past !== undefined && fleet.ids.length > 0 && (
        <PastView key={id} detail={detail} fleet={fleet} coded={past} />
      )}
      {detail.gate !== undefined && <PastComparisons gate={detail.gate} />}
      <div class="columns">
        <div class="stack">
          <Waves
            waves={detail.waves}
            current={detail.status.current_wave}
            isRunning={false}
            counts={counts.waves}
          />
        </div>
        <div class="stack">
          {(detail.ended_at !== null || detail.status.state === "paused") && (
            <Replay key={id} id={id} />
          )}
          {detail.ended_at !== null && <Proof key={id} id={id} />}
          <ChoicePanel policy={detail.status.policy} />
          <EvidencePanel status={detail.status} />
          <ApprovalsPanel status={detail.status} />
          <Messages messages={detail.messages} />
        </div>
      </div>
    </>
  );
}

function NoRollout({ id }: { id: string }) {
  return (
    <Missing title="Rollout not found" back={{ to: "/history", words: "All rollouts" }}>
      History has no rollout <span class="mono">{id}</span>.
    </Missing>
  );
}

type Props = Pick<PastRollout, "detail" | "fleet"> & { coded: RolloutPast };

/** A rollout's past: what ran, the response times, and the grid, all at one moment. */
function PastView({ detail, fleet: columns, coded }: Props) {
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
