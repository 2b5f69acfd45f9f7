/**
 * The address of what is shown: its path, and behind `?` what a page is refined by, so that a reload, Back and a link
 * show the same.
 */
import { batch, signal } from "@preact/signals";
import { noteEntry, restoreScroll, stateOfNewEntry } from "./scroll.ts";

const base = "/console";

function pathOf({ pathname }: Pick<Location, "pathname">): string {
  return pathname.slice(base.length).replace(/\/$/, "") || "/";
}

/** The path below `/console`, `/` for the first page. */
export const path = signal(pathOf(location));
/** What is behind `?`. It is replaced, never changed in place. */
export const query = signal<Readonly<URLSearchParams>>(new URLSearchParams(location.search));

function noteAddress(): void {
  batch(() => {
    path.value = pathOf(location);
    query.value = new URLSearchParams(location.search);
  });
}

noteEntry();
// After a reload, or when somebody comes back from another page of the web.
restoreScroll();
addEventListener("popstate", () => {
  noteEntry();
  noteAddress();
  restoreScroll();
});

/** The whole address of a path below `/console`, maybe with `?`. */
export function addressOf(to: string): string {
  return `${base}${to.replace(/^\/(?=\?|$)/, "")}`;
}

/** Leads to a path below `/console`, maybe with `?`, by a new entry of the browser's history. */
export function push(to: string): void {
  history.pushState(stateOfNewEntry(), "", addressOf(to));
  noteEntry();
  noteAddress();
}

type Refinements = Readonly<Record<string, string | undefined>>;

/** Refines what the page shows; undefined removes a value. Back leads to the page before, not to each refinement. */
export function setQuery(refinements: Refinements): void {
  const next = withRefinements(query.peek(), refinements);
  if (next === query.peek().toString()) return;
  const search = next === "" ? "" : `?${next}`;
  history.replaceState(history.state, "", `${location.pathname}${search}`);
  noteAddress();
}

/** A part of a page's state that is kept in the address. The fallback is left out there. */
export function useQuery(name: string, fallback: string): [string, (value: string) => void] {
  const value = query.value.get(name) ?? fallback;
  return [value, (next) => setQuery({ [name]: next === fallback ? undefined : next })];
}

/** The text of a query after some of its values have changed. */
function withRefinements(before: Readonly<URLSearchParams>, refinements: Refinements): string {
  const next = new URLSearchParams(before.toString());
  for (const [name, value] of Object.entries(refinements)) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return next.toString();
}
