/** Shows whether the routes of the incident service match the rows, and the result of the last apply. */
import type { ComponentChildren } from "preact";
import type { RoutingView } from "#console/contract.ts";
import { Notice, Panel } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { callerWords } from "#kernel/words.ts";

type Status = NonNullable<RoutingView["sync"]>;

export function Sync({ sync, trouble }: { sync: Status | null; trouble: string | null }) {
  return (
    <Panel
      title="At the incident service"
      beside={
        sync?.next_check_at != null && (
          <span class="quiet">
            next check <Time iso={sync.next_check_at} />
          </span>
        )
      }
    >
      <div class="stack">
        {sync === null ? <Notice tone="warn">{trouble}</Notice> : <Drift drift={sync.drift} />}
        {sync?.applying != null && (
          <Notice tone="info">
            {`An apply is running, by ${callerWords(sync.applying.by)}: ${sync.applying.routes.length} of ${sync.applying.total} routes.`}
          </Notice>
        )}
        {sync?.last_apply != null && <LastApply result={sync.last_apply} />}
      </div>
    </Panel>
  );
}

const whys = {
  changed: "someone else has changed it",
  deleted: "someone else has deleted it",
  not_applied: "its row has changed and was not applied",
} as const;

function Drift({ drift }: Pick<Status, "drift">) {
  if (drift === null) {
    return (
      <p class="quiet">
        Not compared yet. Set incident.url and incident.api_key, then run{" "}
        <code class="mono">npx vedette alerts plan</code>.
      </p>
    );
  }
  const checked = <Time iso={drift.checked_at} isAge />;
  if (drift.state === "unknown") {
    return (
      <Notice tone="warn">
        The check failed {checked}: {drift.reason ?? "no reason is known"}
      </Notice>
    );
  }
  if (drift.state === "in_step") return <Notice tone="good">In step, {checked}.</Notice>;
  return (
    <Notice tone="bad">
      <p>Drift, found {checked}:</p>
      <List>
        {drift.routes.map(({ name, why, changes = [] }) => (
          <li key={name}>
            {`${name}: ${whys[why]}`}
            {changes.map((change) => (
              <p key={change.path} class="mono">
                {`${change.path}: ${JSON.stringify(change.before)} at the incident service, ${JSON.stringify(change.after)} in the row`}
              </p>
            ))}
          </li>
        ))}
        {drift.doubled.map(({ name, advice }) => (
          <li key={`doubled ${name}`}>{advice}</li>
        ))}
      </List>
    </Notice>
  );
}

function LastApply({ result }: { result: NonNullable<Status["last_apply"]> }) {
  return (
    <details>
      <summary>
        Last apply: {result.outcome}, <Time iso={result.ended_at} />, by {callerWords(result.by)}
      </summary>
      <List>
        {result.doubled.map(({ name, advice }) => (
          <li key={`doubled ${name}`}>{advice}</li>
        ))}
        {result.routes.map(({ name, outcome, message, difference = [] }) => (
          <li key={name}>
            {`${name}: ${outcome.replace("_", " ")}`}
            {message !== undefined && ` (${message})`}
            {difference.map((one) => (
              <p key={one.path} class="mono">
                {`${one.path}: ${JSON.stringify(one.base)}; ${one.by}: ${JSON.stringify(one.theirs)} / ${JSON.stringify(one.ours)}`}
              </p>
            ))}
          </li>
        ))}
      </List>
    </details>
  );
}

function List({ children }: { children: ComponentChildren }) {
  return <ul class="plain-list">{children}</ul>;
}
