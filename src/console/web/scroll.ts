/**
 * How far each entry of the browser's history was scrolled. The browser's own restoration comes too early: a page has
 * its height only when it has read what it shows.
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
export function stateOfNewEntry(): { entry: string } {
  notePosition();
  return { entry: `${Date.now()}-${Math.random()}` };
}

/** To be called when another entry is shown. */
export function noteEntry(): void {
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
export function restoreScroll(): void {
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
