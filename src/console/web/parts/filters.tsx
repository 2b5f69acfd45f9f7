/** The fields by which a list is refined, as the address has it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { query } from "#console/web/address.ts";
import { count } from "#console/web/format.ts";

const typingMs = 250;

type SearchProps = { placeholder: string; change: (text: string) => void };

/** The list follows once the operator has stopped typing. */
export function SearchField({ placeholder, change }: SearchProps) {
  const shown = query.value.get("search") ?? "";
  const [text, setText] = useState(shown);
  const written = useRef(shown);
  // A link or "Show all" may lead to another search; what we have written ourselves is behind what is typed.
  useEffect(() => {
    if (shown === written.current) return;
    written.current = shown;
    setText(shown);
  }, [shown]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `change` is another one at each rendering
  useEffect(() => {
    if (text === shown) return;
    const timer = setTimeout(() => {
      written.current = text;
      change(text);
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
        placeholder={placeholder}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

type ChoiceProps = {
  /** In the address. */
  of: string;
  name: string;
  choices: readonly { value: string; count: number }[];
  wordsOf: (value: string) => string;
  change: (value: string) => void;
};

export function ChoiceField({ of, name, choices, wordsOf, change }: ChoiceProps) {
  const chosen = query.value.get(of) ?? "";
  const isKnown = chosen === "" || choices.some(({ value }) => value === chosen);
  return (
    <label>
      <span class="label">{name}</span>
      <select value={chosen} onChange={(event) => change(event.currentTarget.value)}>
        <option value="">Any</option>
        {!isKnown && <option value={chosen}>{wordsOf(chosen)}</option>}
        {choices.map(({ value, count: found }) => (
          <option key={value} value={value} title={value}>
            {`${wordsOf(value)} (${count(found)})`}
          </option>
        ))}
      </select>
    </label>
  );
}
