import type { LiveRollout } from "#console/contract.ts";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { FleetView } from "#console/web/fleet/fleet-view.tsx";
import { duration, ms } from "#console/web/format.ts";
import { counts, fleet, nowMs, rollout } from "#console/web/live.ts";
import { Waiting } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Actions, ConfirmGate } from "#console/web/rollout/actions.tsx";
import { LazyComparison } from "#console/web/rollout/comparison-lazy.tsx";
import { EvidencePanel } from "#console/web/rollout/evidence.tsx";
import { ApprovalsPanel, ChoicePanel, Facts } from "#console/web/rollout/facts.tsx";
import { Failures } from "#console/web/rollout/failures.tsx";
import { Heading } from "#console/web/rollout/heading.tsx";
import { Messages } from "#console/web/rollout/messages.tsx";
import { tabTitleOf } from "#console/web/rollout/title.ts";
import { Waves } from "#console/web/rollout/waves.tsx";
import { Link, useTitle } from "#console/web/router.tsx";
import { Health } from "#console/web/status/health.tsx";
import { timeoutWords } from "#kernel/words.ts";
import type { GateStatus } from "#rollout/gates/contract.ts";

export function RolloutPage() {
  const now = rollout.value;
  return now === undefined ? <Waiting /> : <Shown rollout={now} />;
}

function Shown({ rollout: now }: { rollout: LiveRollout }) {
  const { status } = now;
  useTitle(tabTitleOf(now));
  const isRunning = status.state === "in_progress";
  return (
    <>
      <Health fleet={chosenFleet.value} />
      <Heading detail={now}>
        <Actions rollout={now} />
      </Heading>
      <Failures failures={now.failures} hasLogs />
      {status.rollout_id !== null && <Facts rollout={now} />}
      {status.gate !== undefined && (
        <GatePanel gate={status.gate} status={status} isOpen={isRunning} />
      )}
      {status.rollout_id === null ? <FirstSteps /> : <Parts rollout={now} />}
    </>
  );
}

/** Side by side where there is room; else in the order in which somebody who was woken wants to read them. */
function Parts({ rollout: now }: { rollout: LiveRollout }) {
  const { status, waves } = now;
  return (
    <div class="parts">
      <div class="stack part-waves">
        {waves.length > 0 && (
          <Waves
            waves={waves}
            counts={counts.value?.waves ?? []}
            current={status.current_wave}
            isRunning={status.state === "in_progress"}
          />
        )}
      </div>
      <div class="stack part-fleet">
        {fleet.value !== undefined && (
          <FleetView fleet={fleet.value} rolloutId={status.rollout_id} />
        )}
      </div>
      <div class="stack part-more">
        <ChoicePanel policy={status.policy} />
        <EvidencePanel status={status} />
        <ApprovalsPanel status={status} />
        <Messages messages={now.messages} />
      </div>
    </div>
  );
}

/** Before the first rollout. */
function FirstSteps() {
  return (
    <>
      <p>
        A rollout replaces the image of every sentinel below, in waves. Its plan says which
        sentinels are in which wave before anything is changed; <Link to="/fleet">Fleet</Link> says
        what runs now.
      </p>
      {fleet.value !== undefined && <FleetView fleet={fleet.value} rolloutId={null} />}
    </>
  );
}

type GateProps = { gate: GateStatus; status: LiveRollout["status"]; isOpen: boolean };

/** The state of the gates between two waves, check by check. */
function GatePanel({ gate, status, isOpen }: GateProps) {
  const left = (Date.parse(gate.until) - nowMs.value) / 1_000;
  return (
    <section class="panel gate" aria-labelledby="gate-title">
      <header class="panel-head">
        <h2 id="gate-title">Gate after wave {gate.wave}</h2>
        <span class="quiet">
          closed since <Time iso={gate.since} />
          {isOpen && left > 0 && ` · ${timeoutWords[gate.on_timeout]} in ${duration(left)}`}
        </span>
      </header>
      <ul>
        {gate.checks.map((check) => (
          <li key={check.check}>
            <Link to={`/checks/${check.check}`}>{check.check}</Link>
            <CleanRuns {...check} />
            {check.failed_run !== null && (
              <span class="reason">
                Failed at {check.failed_run.location}, <Time iso={check.failed_run.at} />:{" "}
                {check.failed_run.reason} ({ms(check.failed_run.duration_ms)})
              </span>
            )}
          </li>
        ))}
        {gate.gates.map((one) => (
          <li key={one.name}>
            {one.name}: {one.verdict}
            <span class="reason">{one.reason}</span>
            {one.readings.slice(-3).map(({ at, verdict, value }) => (
              <span key={at} class="quiet">
                <Time iso={at} /> {verdict}: {value}
              </span>
            ))}
            <ConfirmGate status={status} gate={one} />
            {one.comparison !== undefined && <LazyComparison comparison={one.comparison} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function CleanRuns({ clean_runs, wanted_runs }: GateStatus["checks"][number]) {
  const shown = Math.min(wanted_runs, 20);
  return (
    <span>
      <span class="dots" aria-hidden="true">
        {Array.from({ length: shown }, (_, index) => (
          <i key={index} class={index < clean_runs ? "on" : ""} />
        ))}
      </span>{" "}
      {Math.min(clean_runs, wanted_runs)} of {wanted_runs} clean runs
    </span>
  );
}
