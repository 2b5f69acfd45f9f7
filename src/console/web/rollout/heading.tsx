/** The heading of a rollout: its state, its image, who started it and when. */
import { type ComponentChildren, Fragment } from "preact";
import { count, inWords } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Sign, toneOfState } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { starterWords } from "#kernel/words.ts";
import type { StandingPart } from "#rollout/contract.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import { situationOf } from "./questions.ts";
import { titleOf } from "./title.ts";

type Props = { detail: RolloutDetail; children?: ComponentChildren };

export function Heading({ detail, children }: Props) {
  const { status, started_by: by, ci_run: run } = detail;
  const situation = situationOf(detail);
  return (
    <section class="state-head">
      <div class="page-head">
        <div>
          <div class="state-title">
            <Sign tone={toneOfState(status)} />
            <h1>{titleOf(detail)}</h1>
          </div>
          {status.image !== null && (
            <p>
              <Image image={status.image} />
            </p>
          )}
          {status.started_at !== null && (
            <p>
              Started <Time iso={status.started_at} isAge />
              {by !== null && ` by ${starterWords(by, run)}`}
              {status.paused && ", paused "}
              {status.paused && <Time iso={status.paused.at} isAge />}
            </p>
          )}
          <Watched until={status.watch_until} />
          {status.policy?.reason !== undefined && <p>Reason: {status.policy.reason}</p>}
          {situation !== undefined && <Situation parts={situation} />}
        </div>
        {children}
      </div>
      <Why status={status} />
      <StillOrdered status={status} />
    </section>
  );
}

function Watched({ until }: { until: string | undefined }) {
  if (until === undefined) return null;
  return (
    <p>
      Watched until <Time iso={until} />
    </p>
  );
}

/** Why it waits, is paused or has ended as it did. */
function Why({ status }: { status: RolloutDetail["status"] }) {
  const { waiting_for: what, state, cause, reason } = status;
  if (what === "window" || what === "approval") return <Wait status={status} />;
  if (reason === undefined) return null;
  const isFine = state === "completed" && cause === undefined;
  return <Notice tone={isFine ? "info" : "warn"}>{reason}</Notice>;
}

function Situation({ parts }: { parts: readonly StandingPart[] }) {
  return (
    <p class="situation">
      {parts.map(({ text, down }) => (
        <Fragment key={text}>
          {down > 0 ? <strong class="bad-text">{text}</strong> : text}{" "}
        </Fragment>
      ))}
    </p>
  );
}

/** Sentinels that a rollback has not touched because their deploy had failed. */
function StillOrdered({ status }: { status: RolloutDetail["status"] }) {
  const { still_ordered: named = [], still_ordered_count: left = 0 } = status;
  if (left === 0) return null;
  const ids = named.slice(0, 10).map(({ id }) => id);
  const more = left > ids.length ? ` and ${count(left - ids.length)} more` : "";
  return (
    <Notice tone="warn">
      Failed, and still ordered to run the new image: {ids.join(", ")}
      {more}
    </Notice>
  );
}

/** Why nothing starts for now, and for how long. */
function Wait({ status }: { status: RolloutDetail["status"] }) {
  const { waiting_for: what, reason, until } = status;
  return (
    <Notice tone="warn">
      {reason !== undefined && `It ${reason}. `}
      {until !== undefined && (
        <>
          This wait ends {inWords(until, nowMs.value)}, <Time iso={until} />.{" "}
        </>
      )}
      {what === "window" && <Link to="/windows">All windows</Link>}
    </Notice>
  );
}
