/** A fleet as it is: which versions run where, what differs from what was ordered, and every sentinel. */
import { useRef } from "preact/hooks";
import { query, setQuery } from "#console/web/address.ts";
import { ago, count, sentinels } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { Differences } from "#console/web/sentinels/differences.tsx";
import { FilterFields } from "#console/web/sentinels/filter-fields.tsx";
import { isRefined, noFilters, pageSize, searchOf } from "#console/web/sentinels/search.ts";
import { SentinelList } from "#console/web/sentinels/sentinel-list.tsx";
import { Tiles } from "#console/web/sentinels/tiles.tsx";
import { VersionTable } from "#console/web/sentinels/version-table.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { FleetOverview } from "#fleet/overview/contract.ts";

export function FleetPage() {
  const asked = searchOf(query.value);
  const list = useRef<HTMLElement>(null);
  const { latest, data, error, isMissing } = useRead("fleet", { ...asked, limit: pageSize }, 5_000);
  // The address may ask for something that no fleet has: its answer is the refusal, not the page before.
  if (latest === undefined) {
    return (
      <>
        <h1>Fleet</h1>
        <Refused error={error} isMissing={isMissing} />
      </>
    );
  }
  const isCurrent = data !== undefined;
  const goToList = () => {
    list.current?.focus();
    list.current?.scrollIntoView();
  };
  const show = (wanted: Record<string, string>) => {
    setQuery({ ...noFilters, ...wanted });
    goToList();
  };
  return (
    <>
      <Head overview={latest} />
      {error !== undefined && <Refused error={error} isMissing={isMissing} />}
      <ListProblem list={latest.list} />
      <Tiles overview={latest} show={(filter, value) => show({ [filter]: value })} />
      <VersionTable
        overview={latest}
        show={(region, image) => show({ image, ...(region !== null && { region }) })}
      />
      <Differences differences={latest.differences} />
      <section
        ref={list}
        class="panel"
        aria-labelledby="sentinels-title"
        aria-busy={!isCurrent}
        tabIndex={-1}
      >
        <header class="panel-head">
          <h2 id="sentinels-title">Sentinels</h2>
          {!isCurrent && error === undefined && (
            <span class="quiet" role="status">
              Searching…
            </span>
          )}
          {isRefined(asked) && (
            <button type="button" class="small" onClick={() => setQuery(noFilters)}>
              Show all
            </button>
          )}
        </header>
        <FilterFields choices={latest.choices} />
        <SentinelList overview={latest} page={asked.page} isCurrent={isCurrent} onTurn={goToList} />
      </section>
    </>
  );
}

type Refusal = { error: string | undefined; isMissing: boolean };

/** Another question is offered only where the fleet cannot answer this one. */
function Refused({ error, isMissing }: Refusal) {
  return (
    <>
      <Waiting error={error} />
      {isMissing && (
        <p>
          <button type="button" onClick={() => setQuery(noFilters)}>
            Show the whole fleet
          </button>
        </p>
      )}
    </>
  );
}

function Head({ overview }: { overview: FleetOverview }) {
  const regions = new Set(overview.versions.map(({ region }) => region)).size;
  const known = regions + overview.more_regions;
  const { asked_at: askedAt } = overview.list;
  return (
    <div class="page-head">
      <div>
        <h1>Fleet</h1>
        <p>
          {sentinels(overview.total)} in {count(known)} {known === 1 ? "region" : "regions"}
          {askedAt !== null && `, listed ${ago(askedAt, nowMs.value)}`}
        </p>
      </div>
    </div>
  );
}

/** Why what is shown may be out of date. */
function ListProblem({ list: { problem, problem_at: at } }: Pick<FleetOverview, "list">) {
  if (problem === null) return null;
  return (
    <Notice tone="warn">
      <b>The fleet's newest list was not accepted</b>
      {at !== null && ` ${ago(at, nowMs.value)}`}: {problem}
    </Notice>
  );
}
