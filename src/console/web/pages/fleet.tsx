/** A fleet as it is: which versions run where, what differs from what was ordered, and every sentinel. */
import { useRef } from "preact/hooks";
import { query, setQuery } from "#console/web/address.ts";
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { ago, count, sentinels } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Sign, type Tone } from "#console/web/parts/mark.tsx";
import {
  type Filter,
  isRefined,
  noFilters,
  pageSize,
  searchOf,
} from "#console/web/sentinels/search.ts";
import { FilterFields, SentinelList } from "#console/web/sentinels/sentinel-list.tsx";
import { VersionTable } from "#console/web/sentinels/version-table.tsx";
import { stateWords } from "#console/web/sentinels/words.ts";
import { useRead } from "#console/web/use-read.ts";
import type { DriftedSentinel } from "#fleet/drift-contract.ts";
import type { FleetOverview, ImageState } from "#fleet/overview/contract.ts";
import { callerWords } from "#kernel/words.ts";

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
      <DriftPanel />
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

type Difference = FleetOverview["differences"][number];

/** Lists what was ordered and is not what runs, over the whole fleet. */
function Differences({ differences }: Pick<FleetOverview, "differences">) {
  if (differences.length === 0) return null;
  return (
    <Panel title="Ordered, and not what runs">
      <Table
        class="short-images"
        names={["Ordered", "Runs", "Deploying", "Failed", "Neither"]}
        numbers={["Deploying", "Failed", "Neither"]}
      >
        {differences.map((difference) => (
          <Row key={`${difference.ordered} ${difference.running}`} difference={difference} />
        ))}
      </Table>
    </Panel>
  );
}

function Row({ difference }: { difference: Difference }) {
  const { ordered, running, deploying, failed, differs } = difference;
  return (
    <tr>
      <td data-name="Ordered">
        <Image image={ordered} />
      </td>
      <td data-name="Runs">
        <Image image={running} />
      </td>
      <td data-name="Deploying" class="number">
        {count(deploying)}
      </td>
      <td data-name="Failed" class="number">
        {failed === 0 ? "0" : <b class="bad-text">{count(failed)}</b>}
      </td>
      <td data-name="Neither" class="number">
        {count(differs)}
      </td>
    </tr>
  );
}

const imageStates = Object.keys(stateWords) as ImageState[];

type Props = { overview: FleetOverview; show: (filter: Filter, value: string) => void };

/** The whole fleet in five numbers; each of them shows its sentinels in the list. */
function Tiles({ overview, show }: Props) {
  const { states, unhealthy } = overview;
  return (
    <ul class="tiles choices-of-state">
      {imageStates.map((state) => (
        <Tile
          key={state}
          {...stateWords[state]}
          value={states[state] ?? 0}
          show={() => show("state", state)}
        />
      ))}
      <Tile
        name="Unhealthy"
        tone="bad"
        value={unhealthy}
        show={() => show("health", "unhealthy")}
      />
    </ul>
  );
}

type TileProps = { name: string; tone: Tone; value: number; show: () => void };

/** A tile has the colour of its tone only where there is something to count. */
function Tile({ name, tone, value, show }: TileProps) {
  return (
    <li>
      <button type="button" class="plain" onClick={show}>
        <span>
          <Sign tone={value === 0 ? "mute" : tone} /> {name}
        </span>
        <b>{count(value)}</b>
      </button>
    </li>
  );
}

/** `vedette fleet drift` lists them all. */
const mostRows = 20;

/** The sentinels that run another image than the desired one; nothing while there are none. */
function DriftPanel() {
  const { data } = useRead("FleetService/Drift", ofChosenFleet(), 15_000);
  if (data === undefined || data.total === 0) return null;
  const { total, held, on_drift: onDrift } = data;
  const follows = onDrift === "converge" ? "brought back by rollouts" : "only reported";
  const note = `${sentinels(total)}, ${count(held)} held; ${follows} (fleet.on_drift)`;
  return (
    <Panel title="Drifted from the desired image" note={note}>
      <Table class="short-images" names={["Sentinel", "Runs", "Desired", "Why", "Since", "Held"]}>
        {data.sentinels.slice(0, mostRows).map((one) => (
          <DriftRow key={one.id} sentinel={one} />
        ))}
      </Table>
    </Panel>
  );
}

function DriftRow({ sentinel }: { sentinel: DriftedSentinel }) {
  const { id, running_image: running, desired_image: desired, why, since, held } = sentinel;
  return (
    <tr>
      <td data-name="Sentinel">{id}</td>
      <td data-name="Runs">{running === "" ? "nothing" : <Image image={running} />}</td>
      <td data-name="Desired">
        <Image image={desired} />
      </td>
      <td data-name="Why">{why}</td>
      <td data-name="Since">{ago(since, nowMs.value)}</td>
      <td data-name="Held">{held && `${held.reason} (${held.pin}, ${callerWords(held.by)})`}</td>
    </tr>
  );
}
