/** Shows who is notified of which alert, and whether the routes of the incident service match the rows. */
import type { RoutingView } from "#console/contract.ts";
import { query, setQuery } from "#console/web/address.ts";
import { Missing, Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Nobody, pagesWords, RouteMap } from "#console/web/routing/route-map.tsx";
import { alertOf, queryOf } from "#console/web/routing/simulated.ts";
import { Sync } from "#console/web/routing/sync.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { CheckView } from "#monitor/results/contract.ts";

export function RoutesPage() {
  const { source, labels } = alertOf(query.value);
  const { data, latest, error, isMissing } = useRead("routing", { source, labels }, 30_000);
  const { data: checks } = useRead("CheckReads/List", {}, 30_000);
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
      <Nobody checks={checks} />
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
              <RouteMap simulation={data.simulation} nobody={checks?.reaches_nobody} />
            )}
          </Panel>
        </div>
        <Walks checks={latest.checks} known={checks?.checks ?? []} />
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

type WalksProps = Pick<RoutingView, "checks"> & { known: readonly CheckView[] };

function Walks({ checks, known }: WalksProps) {
  const why = new Map(known.map(({ id, reaches_nobody }) => [id, reaches_nobody]));
  return (
    <Panel title="When a check fails">
      <Table names={["Check", "Source", "Pages", "Posts to"]}>
        {checks.map(({ check, source, pages, channels }) => (
          <tr key={check}>
            <td data-name="Check">{check}</td>
            <td data-name="Source">{source ?? "no channel"}</td>
            <td data-name="Pages">
              {pages.length === 0 || why.get(check) !== undefined ? (
                <span class="quiet">{pagesWords(pages, why.get(check))}</span>
              ) : (
                <b>{pages.join(", ")}</b>
              )}
            </td>
            <td data-name="Posts to">
              {(why.get(check) === undefined && channels.join(", ")) || "nowhere"}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
