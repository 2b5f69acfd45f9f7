/** The numbers of a rollout. */
import type { ComponentChildren } from "preact";
import type { LiveRollout } from "#console/contract.ts";
import { count, duration, percent } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { secondsLeft } from "./time-left.ts";

export function Facts({ rollout }: { rollout: LiveRollout }) {
  const { status, per_second: perSecond, ended_at: endedAt } = rollout;
  const isMoving = status.state === "in_progress" || status.state === "rolling_back";
  const done = status.succeeded + status.failed;
  const endMs = endedAt === null ? nowMs.value : Date.parse(endedAt);
  const took = status.started_at === null ? 0 : (endMs - Date.parse(status.started_at)) / 1_000;
  return (
    <dl class="tiles">
      <Tile name="Done">
        {count(done)}{" "}
        <small>
          of {count(status.total)} · {percent(done, status.total)}
        </small>
      </Tile>
      <Tile name="Failed">
        <span class={status.failed > 0 ? "bad-text" : ""}>{count(status.failed)}</span>
      </Tile>
      {(status.left_out ?? 0) > 0 && <Tile name="Left out">{count(status.left_out ?? 0)}</Tile>}
      {rollout.reverted > 0 && <Tile name="Reverted">{count(rollout.reverted)}</Tile>}
      <Tile name="Wave">
        {status.current_wave} <small>of {status.total_waves}</small>
      </Tile>
      {isMoving && <Tile name="In flight">{count(status.in_flight)}</Tile>}
      {isMoving && (
        <Tile name="Throughput">
          {perSecond} <small>per second</small>
        </Tile>
      )}
      {isMoving && <Tile name="Time left">{timeLeft(rollout)}</Tile>}
      <Tile name={endedAt === null ? "Running for" : "Took"}>{duration(took)}</Tile>
    </dl>
  );
}

function Tile({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function timeLeft(rollout: LiveRollout): string {
  const { waiting_for: what } = rollout.status;
  if (what === "window" || what === "approval") return "waits";
  const seconds = secondsLeft(rollout);
  return seconds === undefined ? "…" : `~ ${duration(seconds)}`;
}
