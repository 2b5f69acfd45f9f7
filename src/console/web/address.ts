/** The address: its path, and behind `?` what refines the page, so that a reload, Back and a link show the same. */
import { batch, signal } from "@preact/signals";

/*
 * The scroll position of each entry of the browser's history is kept here: the browser's own restoration comes too early,
 * because a page has its height only when it has read what it shows.
 */
const storeKey = "vedette-scroll";
/** A tab that is open for weeks keeps the newest entries only. */
const mostEntries = 50;
const restoreWithinMs = 10_000;
/** A page that had its height for so long has read what it shows. */
const settledAfterMs = 700;

/** Pixels, by the name of the entry. */
type Positions = Record<string, number>;

const positions = readPositions();
let entry = "";
let restoring: AbortController | undefined;

history.scrollRestoration = "manual";
addEventListener("scroll", notePosition, { passive: true });
addEventListener("pagehide", writePositions);

/** The state of a new entry, which names it. */
function stateOfNewEntry(): { entry: string } {
  notePosition();
  return { entry: `${Date.now()}-${Math.random()}` };
}

/** Sets `entry` to the one that is shown: must be called whenever that is another one. */
function noteEntry(): void {
  restoring?.abort();
  const known = (history.state as { entry?: unknown } | null)?.entry;
  if (typeof known === "string") {
    entry = known;
    return;
  }
  const state = stateOfNewEntry();
  history.replaceState(state, "");
  entry = state.entry;
}

/** Scrolls to where the entry was left, as soon as the page is high enough, unless somebody does something before. */
function restoreScroll(): void {
  restoring?.abort();
  const wanted = positions[entry];
  // Such as one that was made by a link to a part of the page.
  if (wanted === undefined) return;
  const ended = new AbortController();
  const end = () => ended.abort();
  let settling: ReturnType<typeof setTimeout> | undefined;
  const watcher = new ResizeObserver(() => {
    scrollTo(0, wanted);
    clearTimeout(settling);
    if (Math.abs(scrollY - wanted) < 2) settling = setTimeout(end, settledAfterMs);
  });
  const timer = setTimeout(end, restoreWithinMs);
  ended.signal.addEventListener("abort", () => {
    watcher.disconnect();
    clearTimeout(settling);
    clearTimeout(timer);
    restoring = undefined;
  });
  for (const name of ["wheel", "touchstart", "pointerdown", "keydown"]) {
    addEventListener(name, end, { signal: ended.signal, passive: true });
  }
  restoring = ended;
  watcher.observe(document.body);
}

/** While it is restored a page is scrolled by its own height, and by nobody. */
function notePosition(): void {
  if (entry !== "" && restoring === undefined) positions[entry] = Math.round(scrollY);
}

function readPositions(): Positions {
  const found: unknown = JSON.parse(sessionStorage.getItem(storeKey) ?? "{}");
  return found as Positions;
}

function writePositions(): void {
  notePosition();
  const newest = Object.entries(positions).slice(-mostEntries);
  sessionStorage.setItem(storeKey, JSON.stringify(Object.fromEntries(newest)));
}

const base = "/console";

function pathOf({ pathname }: Pick<Location, "pathname">): string {
  return pathname.slice(base.length).replace(/\/$/, "") || "/";
}

/** The path below `/console`, `/` for the first page. */
export const path = signal(pathOf(location));
/** The query of the address, behind `?`. It is replaced, never changed in place. */
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
