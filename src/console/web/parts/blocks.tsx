/** The blocks of pages: notices, panels, tables. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Link, useTitle } from "#console/web/router.tsx";
import { Sign, type Tone } from "./mark.tsx";

/** A highlighted line with a sign and a colour. */
export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice n-${tone}`}>
      <Sign tone={tone} />
      <div>{children}</div>
    </div>
  );
}

/** Shown until the data has been read, or the error. */
export function Waiting({ error }: { error?: string | undefined }) {
  if (error === undefined) return <p class="waiting">Loading…</p>;
  return <Notice tone="bad">{error}</Notice>;
}

type Props = {
  title: string;
  /** Says what is missing, and why that may be. */
  children: ComponentChildren;
  back: { to: string; words: string };
};

export function Missing({ title, children, back }: Props) {
  useTitle(title);
  return (
    <section class="missing">
      <h1>{title}</h1>
      <p>{children}</p>
      <Link to={back.to} class="button">
        {back.words}
      </Link>
    </section>
  );
}

type PanelProps = {
  title: string;
  note?: string;
  beside?: ComponentChildren;
  children: ComponentChildren;
};

/** A part of a page with a title of its own. */
export function Panel({ title, note, beside, children }: PanelProps) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="quiet">{note}</span>}
        {beside}
      </header>
      {children}
    </section>
  );
}

type TableProps = {
  class?: string;
  names: readonly string[];
  numbers?: readonly string[];
  /** Says what the buttons of the last column do; undefined: there are none. */
  action?: string | undefined;
  children: ComponentChildren;
};

/** A table whose rows are cards where the screen is narrow. */
export function Table({ class: kind = "", names, numbers = [], action, children }: TableProps) {
  return (
    <div class="scroll">
      <table class={`cards ${kind}`}>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} class={numbers.includes(name) ? "number" : undefined}>
                {name}
              </th>
            ))}
            {action !== undefined && (
              <th>
                <span class="visually-hidden">{action}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
