/** One page of the sentinels that the search finds. */
import { setQuery } from "#console/web/address.ts";
import { ago, shortImage } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Table } from "#console/web/parts/blocks.tsx";
import { ChoiceField, SearchField } from "#console/web/parts/filters.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { Link } from "#console/web/router.tsx";
import type { FleetOverview, FoundSentinel } from "#fleet/overview/contract.ts";
import { labelWords } from "#kernel/words.ts";
import { type Filter, filters, pageSize, pathOfSentinel, placeOf, refine } from "./search.ts";
import { healthWords, stateWords } from "./words.ts";

type Props = {
  overview: FleetOverview;
  page: number;
  /** True if the overview is the answer to what is asked, not to the question before. */
  isCurrent: boolean;
  /** Called after another page was asked for. */
  onTurn: () => void;
};

export function SentinelList({ overview, page, isCurrent, onTurn }: Props) {
  const { sentinels, found } = overview;
  const pages = Math.max(1, Math.ceil(found / pageSize));
  const turnTo = (to: number) => {
    setQuery({ page: to <= 1 ? undefined : String(to) });
    onTurn();
  };
  return (
    <>
      {sentinels.length === 0 ? (
        <p class="quiet">{found === 0 ? "No sentinel is so." : "There is no such page."}</p>
      ) : (
        <SentinelTable sentinels={sentinels} />
      )}
      <nav class="row pager" aria-label="Pages of the list">
        <span role="status">{isCurrent && placeOf(page, sentinels.length, found)}</span>
        <button
          type="button"
          disabled={page <= 1}
          onClick={() => turnTo(Math.min(page - 1, pages))}
        >
          Previous
        </button>
        <button type="button" disabled={page >= pages} onClick={() => turnTo(page + 1)}>
          Next
        </button>
      </nav>
    </>
  );
}

function SentinelTable({ sentinels }: { sentinels: readonly FoundSentinel[] }) {
  return (
    <Table
      class="sentinels short-images"
      names={["Sentinel", "State", "Runs", "Region", "Health", "Last change"]}
    >
      {sentinels.map((sentinel) => (
        <Row key={sentinel.id} sentinel={sentinel} />
      ))}
    </Table>
  );
}

function Row({ sentinel }: { sentinel: FoundSentinel }) {
  const { id, region, state, running_image: running, health, labels } = sentinel;
  const words = labelWords(labels);
  return (
    <tr>
      <td data-name="Sentinel" class="sentinel-name">
        <div>
          <Link to={pathOfSentinel(id)}>{id}</Link>
          {words !== "" && <div class="quiet small-text">{words}</div>}
        </div>
      </td>
      <td data-name="State">
        <State sentinel={sentinel} />
      </td>
      <td data-name="Runs">
        <div>
          <Image image={running} />
          {state !== "as_ordered" && (
            <div class="small-text">
              ordered: <Image image={sentinel.image} />
            </div>
          )}
        </div>
      </td>
      <td data-name="Region">{region}</td>
      <td data-name="Health">
        <span class="badge">
          <Sign tone={healthWords[health].tone} /> {healthWords[health].name}
        </span>
      </td>
      <td data-name="Last change" class="nowrap">
        {ago(sentinel.updated_at, nowMs.value)}
      </td>
    </tr>
  );
}

function State({ sentinel }: { sentinel: FoundSentinel }) {
  const { name, tone } = stateWords[sentinel.state];
  return (
    <div>
      <span class="badge">
        <Sign tone={tone} /> {name}
      </span>
      {sentinel.state === "failed" && sentinel.deploy_reason !== null && (
        <div class="reason small-text">{sentinel.deploy_reason}</div>
      )}
    </div>
  );
}

const names: Record<Filter, string> = {
  region: "Region",
  image: "Runs",
  state: "State",
  health: "Health",
};

const wordsOf: Record<Filter, (value: string) => string> = {
  region: (value) => value,
  image: shortImage,
  state: (value) => stateWords[value as keyof typeof stateWords]?.name ?? value,
  health: (value) => healthWords[value as keyof typeof healthWords]?.name ?? value,
};

export function FilterFields({ choices }: Pick<FleetOverview, "choices">) {
  return (
    <search class="filters">
      <SearchField
        placeholder="id or label, such as tier=canary"
        change={(text) => setQuery(refine("search", text))}
      />
      {filters.map((filter) => (
        <ChoiceField
          key={filter}
          of={filter}
          name={names[filter]}
          choices={choices[filter]}
          wordsOf={wordsOf[filter]}
          change={(value) => setQuery(refine(filter, value))}
        />
      ))}
    </search>
  );
}
