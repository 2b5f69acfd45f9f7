import type { ComponentChildren } from "preact";
import type { LiveRollout } from "#console/contract.ts";
import type { Counts, RolloutCounts } from "#console/counts.ts";
import { count, duration, percent } from "#console/web/format.ts";
import { counts, nowMs } from "#console/web/live.ts";
import { Panel } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { callerWords } from "#kernel/words.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { approvalNames } from "./approval.ts";
import { choiceFacts } from "./words.ts";

export function Facts({ rollout }: { rollout: LiveRollout }) {
  const { status, per_second: perSecond, ended_at: endedAt } = rollout;
  if (status.state === "completed" && status.total === 0) return null;
  const isMoving = status.state === "in_progress" || status.state === "rolling_back";
  const endMs = endedAt === null ? nowMs.value : Date.parse(endedAt);
  const took = status.started_at === null ? 0 : (endMs - Date.parse(status.started_at)) / 1_000;
  return (
    <dl class="tiles">
      {counts.value !== undefined && <Results counts={counts.value} />}
      <Tile name="Wave">
        {status.current_wave} <small>of {status.total_waves}</small>
      </Tile>
      {(isMoving || status.in_flight > 0) && (
        <Tile name="In flight">{count(status.in_flight)}</Tile>
      )}
      {isMoving && (
        <Tile name="Throughput">
          {perSecond} <small>per{"\u00a0"}second</small>
        </Tile>
      )}
      {isMoving && <Tile name="Time left">{timeLeft(rollout)}</Tile>}
      <Tile name={endedAt === null ? "Running for" : "Took"}>{duration(took)}</Tile>
    </dl>
  );
}

/** The number of sentinels that are done, and its parts. */
function Results({ counts: of }: { counts: RolloutCounts }) {
  const failed = of.failed + of.failed_before;
  return (
    <>
      <Tile name="Done">
        {count(of.done)}{" "}
        <small>
          of {count(of.total)} · {percent(of.done, of.total).replace(" ", "\u00a0")}
        </small>
      </Tile>
      <Tile name="Succeeded">{count(of.succeeded)}</Tile>
      <Tile name="Failed">
        <span class={failed > 0 ? "bad-text" : ""}>{count(failed)}</span>
      </Tile>
      {of.reverted > 0 && <Tile name="Reverted">{count(of.reverted)}</Tile>}
      {of.not_reverted > 0 && (
        <Tile name="Not reverted">
          <span class="warn-text">{count(of.not_reverted)}</span>
        </Tile>
      )}
      {of.left_out > 0 && <Tile name="Left out">{count(of.left_out)}</Tile>}
    </>
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
  const seconds = counts.value && secondsLeft(rollout, counts.value);
  return seconds === undefined ? "…" : `~ ${duration(seconds)}`;
}

type Moving = Pick<LiveRollout, "status" | "per_second">;

/** The remaining seconds; undefined while there is no throughput. Does not include waiting at gates between waves. */
function secondsLeft(
  { status: { state }, per_second: perSecond }: Moving,
  { succeeded, deploying, waiting }: Counts,
): number | undefined {
  if (perSecond <= 0) return undefined;
  const left = state === "rolling_back" ? succeeded + deploying : deploying + waiting;
  return left / perSecond;
}

/** Nothing for a rollout that takes them all, every region in proportion. */
export function ChoicePanel({ policy = {} }: Pick<RolloutStatus, "policy">) {
  const facts = choiceFacts(policy);
  if (facts.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="choice-title">
      <h2 id="choice-title">Choice and order</h2>
      <dl class="facts">
        {facts.map(([name, words]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

type Given = NonNullable<RolloutStatus["approved"]>[number];

/** The number of approvals that are listed, the newest first; the messages have all of them. */
const mostApprovals = 10;

/** Nothing for a rollout that needs none. */
export function ApprovalsPanel({ status }: { status: RolloutStatus }) {
  const { policy, approved = [] } = status;
  const approvals = policy?.approvals;
  if (approvals === undefined && approved.length === 0) return null;
  const shown = approved.toReversed().slice(0, mostApprovals);
  return (
    <Panel title="Approvals">
      {approvals !== undefined && <p class="quiet">Needed by {approvalNames[approvals]}.</p>}
      {shown.length > 0 && (
        <ul class="plain-list">
          {shown.map((one) => (
            <Line key={`${one.wave} ${one.at}`} approval={one} />
          ))}
        </ul>
      )}
      {approved.length > shown.length && (
        <p class="quiet">and {approved.length - shown.length} earlier ones</p>
      )}
    </Panel>
  );
}

function Line({ approval: { wave, by, at, reason } }: { approval: Given }) {
  return (
    <li>
      <b>Wave {wave}</b> by {callerWords(by)}, <Time iso={at} />
      {reason !== undefined && `: ${reason}`}
    </li>
  );
}
