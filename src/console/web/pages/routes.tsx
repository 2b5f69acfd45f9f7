/** Shows who is notified of which alert, and whether the routes of the incident service match the rows. */

import type { ComponentChildren } from "preact";
import type { RoutingView } from "#console/contract.ts";
import { query, setQuery } from "#console/web/address.ts";
import { Missing, Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Nobody, pagesWords, RouteMap } from "#console/web/routing/route-map.tsx";
import { alertOf, queryOf } from "#console/web/routing/simulated.ts";
import { useRead } from "#console/web/use-read.ts";
import { callerWords } from "#kernel/words.ts";

export function RoutesPage() {
  const { source, labels } = alertOf(query.value);
  const { data, latest, error, isMissing } = useRead("routing", { source, labels }, 30_000);
  if (isMissing) return <NoSource source={source} />;
  if (latest === undefined) return <Waiting error={error} />;
  const choose = (name: string) => {
    const known = latest.sources.find((one) => one.name === name)?.labels ?? {};
    const first = Object.entries(known).map(([label, values]) => [label, values[0] ?? ""]);
    setQuery(queryOf({ source: name, labels: Object.fromEntries(first) }));
  };
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Alert routes</h1>
          <p>Who is notified of which alert, according to the rows of this program.</p>
        </div>
      </div>
      {error !== undefined && data !== undefined && <Notice tone="warn">{error}</Notice>}
      <Nobody reason={latest.reaches_nobody} />
      <div class="sides">
        <div class="stack">
          <Sync sync={latest.sync} trouble={latest.sync_trouble} />
          <Panel title="Try an alert">
            <Alert
              view={latest}
              source={source}
              choose={choose}
              labels={labels}
              change={(some) => setQuery(queryOf({ source, labels: some }))}
            />
            {data === undefined ? (
              <Waiting error={error} />
            ) : (
              <RouteMap simulation={data.simulation} nobody={latest.reaches_nobody} />
            )}
          </Panel>
        </div>
        <Walks checks={latest.checks} />
      </div>
    </>
  );
}

function NoSource({ source }: { source: string }) {
  return (
    <Missing title="Alert not found" back={{ to: "/routes", words: "Try another alert" }}>
      No rows are known for an alert of the source <span class="mono">{source}</span> with these
      labels.
    </Missing>
  );
}

type AlertProps = {
  view: RoutingView;
  source: string;
  choose: (name: string) => void;
  labels: Readonly<Record<string, string>>;
  change: (labels: Record<string, string>) => void;
};

function Alert({ view, source, choose, labels, change }: AlertProps) {
  const known = view.sources.find(({ name }) => name === source)?.labels ?? {};
  return (
    <div class="inline-form">
      <label>
        <span class="label">Source</span>
        <select value={source} onChange={(event) => choose(event.currentTarget.value)}>
          {view.sources.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {Object.entries(known).map(([label, values]) => (
        <label key={label}>
          <span class="label">{label}</span>
          <select
            value={labels[label] ?? ""}
            onChange={(event) => change({ ...labels, [label]: event.currentTarget.value })}
          >
            {values.map((value) => (
              <option key={value}>{value}</option>
            ))}
            <option value="">(not set)</option>
          </select>
        </label>
      ))}
    </div>
  );
}

function Walks({ checks }: Pick<RoutingView, "checks">) {
  return (
    <Panel title="When a check fails">
      <Table names={["Check", "Source", "Pages", "Posts to"]}>
        {checks.map(({ check, source, pages, channels, reaches_nobody: why }) => (
          <tr key={check}>
            <td data-name="Check">{check}</td>
            <td data-name="Source">{source ?? "no channel"}</td>
            <td data-name="Pages">
              {pages.length === 0 || why !== undefined ? (
                <span class="quiet">{pagesWords(pages, why)}</span>
              ) : (
                <b>{pages.join(", ")}</b>
              )}
            </td>
            <td data-name="Posts to">{(why === undefined && channels.join(", ")) || "nowhere"}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

type Status = NonNullable<RoutingView["sync"]>;

function Sync({ sync, trouble }: { sync: Status | null; trouble: string | null }) {
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
