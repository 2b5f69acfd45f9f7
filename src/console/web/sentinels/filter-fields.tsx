/** The search and the filters of the list, each choice with how many it would find. */
import { useEffect, useRef, useState } from "preact/hooks";
import { query, setQuery } from "#console/web/address.ts";
import { count, shortImage } from "#console/web/format.ts";
import type { FleetOverview } from "#fleet/overview/contract.ts";
import { type Filter, filters, refine } from "./search.ts";
import { healthWords, stateWords } from "./words.ts";

type Choices = FleetOverview["choices"][Filter];

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
      <SearchField />
      {filters.map((filter) => (
        <FilterField key={filter} filter={filter} choices={choices[filter]} />
      ))}
    </search>
  );
}

const typingMs = 250;

/** The list follows once the operator has stopped typing. */
function SearchField() {
  const shown = query.value.get("search") ?? "";
  const [text, setText] = useState(shown);
  const written = useRef(shown);
  // A link or "Show all" may lead to another search; what we have written ourselves is behind what is typed.
  useEffect(() => {
    if (shown === written.current) return;
    written.current = shown;
    setText(shown);
  }, [shown]);
  useEffect(() => {
    if (text === shown) return;
    const timer = setTimeout(() => {
      written.current = text;
      setQuery(refine("search", text));
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text, shown]);
  return (
    <label class="grow">
      <span class="label">Search</span>
      <input
        type="search"
        value={text}
        maxLength={200}
        placeholder="id or label, such as tier=canary"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

function FilterField({ filter, choices }: { filter: Filter; choices: Choices }) {
  const chosen = query.value.get(filter) ?? "";
  const isKnown = chosen === "" || choices.some(({ value }) => value === chosen);
  return (
    <label>
      <span class="label">{names[filter]}</span>
      <select
        value={chosen}
        onChange={(event) => setQuery(refine(filter, event.currentTarget.value))}
      >
        <option value="">Any</option>
        {!isKnown && <option value={chosen}>{wordsOf[filter](chosen)}</option>}
        {choices.map(({ value, count: found }) => (
          <option key={value} value={value} title={value}>
            {`${wordsOf[filter](value)} (${count(found)})`}
          </option>
        ))}
      </select>
    </label>
  );
}
