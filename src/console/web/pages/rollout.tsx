/** The current rollout, live. */
import type { LiveRollout } from "#console/contract.ts";
import { FleetView } from "#console/web/fleet/fleet-view.tsx";
import { fleet, rollout } from "#console/web/live.ts";
import { Waiting } from "#console/web/parts/notice.tsx";
import { Actions } from "#console/web/rollout/actions.tsx";
import { Facts } from "#console/web/rollout/facts.tsx";
import { Failures } from "#console/web/rollout/failures.tsx";
import { GatePanel } from "#console/web/rollout/gate.tsx";
import { Heading } from "#console/web/rollout/heading.tsx";
import { Messages } from "#console/web/rollout/messages.tsx";
import { Waves } from "#console/web/rollout/waves.tsx";

export function RolloutPage() {
  const now = rollout.value;
  return now === undefined ? <Waiting /> : <Shown rollout={now} />;
}

function Shown({ rollout: now }: { rollout: LiveRollout }) {
  const { status, waves } = now;
  const isRunning = status.state === "in_progress";
  return (
    <>
      <Heading detail={now}>
        <Actions rollout={now} />
      </Heading>
      {status.rollout_id !== null && <Facts rollout={now} />}
      {status.gate !== undefined && <GatePanel gate={status.gate} isOpen={isRunning} />}
      <div class="columns">
        <div class="stack">
          {waves.length > 0 && (
            <Waves waves={waves} current={status.current_wave} isRunning={isRunning} />
          )}
          {fleet.value !== undefined && (
            <FleetView fleet={fleet.value} rolloutId={status.rollout_id} />
          )}
        </div>
        <div class="stack">
          <Failures failures={now.failures} />
          {status.rollout_id !== null && <Messages messages={now.messages} />}
        </div>
      </div>
    </>
  );
}
