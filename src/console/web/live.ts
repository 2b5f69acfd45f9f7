/** The data of the stream of events, as signals; the fleet is a store that is changed in place. */
import { batch, computed, signal } from "@preact/signals";
import type { LiveRollout } from "#console/contract.ts";
import { countsOf, detailOf } from "#console/counts.ts";
import type { Beat, Changes, SentRollout, Trouble, WholeState } from "#console/events.ts";
import {
  applyCells,
  changeRollout,
  type FleetStore,
  toStore,
  withMembers,
} from "#console/events.ts";
import { readSession } from "./api.ts";
import { fleetQuery } from "./chosen-fleet.ts";
import { noteBuild } from "./outdated.ts";

export const rollout = signal<LiveRollout | undefined>(undefined);
export const trouble = signal<Trouble>([]);
/** lost: the server cannot be reached, and the page shows the last known state. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");
/** The time at which the last event arrived, in ms since 1970. */
export const lastEventAtMs = signal(Date.now());
/** The current time, updated every second, so that relative times such as "4 min ago" advance. */
export const nowMs = signal(Date.now());

export type Fleet = FleetStore;

export const fleet = signal<Fleet | undefined>(undefined);
/** Grows with every change in place. */
export const fleetTick = signal(0);

/** Every number of the rollout and its waves, counted from the fleet; undefined: the fleet is not known. */
export const counts = computed(() => {
  fleetTick.value;
  if (fleet.value === undefined || rollout.value === undefined) return undefined;
  const { status, waves } = rollout.value;
  return countsOf(fleet.value, { total: status.total, waves });
});

type OnCells = (indexes: readonly number[]) => void;
const drawers = new Set<OnCells>();

/** Calls back with the sentinels that have changed in place. Returns a function that stops this. */
export function onCells(draw: OnCells): () => void {
  drawers.add(draw);
  return () => drawers.delete(draw);
}

/** The rollout as the server has sent it; `rollout` has the numbers too. */
let sent: SentRollout | undefined;

function takeState(state: WholeState): void {
  sent = state.rollout ?? undefined;
  fleet.value = state.fleet === null ? undefined : toStore(state.fleet);
  trouble.value = state.trouble;
  countAgain();
}

function takeChanges(changes: Changes): void {
  if (sent !== undefined) sent = changeRollout(sent, changes);
  if (changes.trouble !== undefined) trouble.value = changes.trouble;
  if (changes.fleet !== undefined) changeFleet(changes.fleet);
  countAgain();
}

function changeFleet(changes: NonNullable<Changes["fleet"]>): void {
  const current = fleet.peek();
  if (current === undefined) return;
  if (changes.members !== undefined) {
    const next = withMembers(current, changes.members);
    applyCells(next, changes);
    fleet.value = next;
    return;
  }
  redraw(applyCells(current, changes));
}

/** Draws sentinels again that have changed in place. */
export function redraw(indexes: readonly number[]): void {
  for (const draw of drawers) draw(indexes);
  fleetTick.value += 1;
}

/** The numbers of the rollout are those of the fleet that is shown beside it. */
function countAgain(): void {
  const { value: shown } = fleet;
  if (sent === undefined) rollout.value = undefined;
  else if (shown === undefined) rollout.value = { ...sent, ...uncounted(sent) };
  else rollout.value = { ...sent, ...detailOf(sent, shown) };
}

/** While no sentinel could be read the rollout's own numbers are all there is. */
function uncounted({ waves }: SentRollout) {
  const none = { succeeded: 0, failed: 0, reverted: 0, not_reverted: 0 };
  return { reverted: 0, failures: [], waves: waves.map((wave) => ({ ...wave, ...none })) };
}

/** The server sends a beat every five seconds: after so long without an event the connection is lost. */
const silentForMs = 13_000;
const reopenAfterMs = 2_000;

/** Forgets the shown data, which belongs to a fleet that is no longer selected, or to an operator who has signed out. */
function forget(): void {
  sent = undefined;
  rollout.value = undefined;
  fleet.value = undefined;
  trouble.value = [];
  connection.value = "connecting";
}

/** Listens to a fleet until the returned function is called. Browsers reconnect by themselves, with their last event id. */
export function listen(fleetName: string): () => void {
  let source: EventSource | undefined;
  let reopening: number | undefined;
  let isOver = false;

  const noteEvent = () => {
    lastEventAtMs.value = Date.now();
    connection.value = "live";
  };

  const open = () => {
    if (isOver) return;
    source = new EventSource(`/console/api/events${fleetQuery(fleetName)}`);
    // All signals change at once: no page is drawn that shows two moments.
    const on = <Data>(name: string, take: (data: Data) => void) =>
      source?.addEventListener(name, (event) => {
        noteEvent();
        batch(() => take(JSON.parse((event as MessageEvent<string>).data) as Data));
      });
    on<WholeState>("state", takeState);
    on<Changes>("changes", takeChanges);
    on<Beat>("beat", ({ build }) => noteBuild(build));
    source.addEventListener("error", () => {
      connection.value = "lost";
      // After a refusal the browser does not reconnect; the session may have ended.
      if (source?.readyState === EventSource.CLOSED) reopen();
    });
  };

  const reopen = () => {
    source?.close();
    clearTimeout(reopening);
    // Listening may have ended while the session was read.
    if (isOver) return;
    reopening = setTimeout(() => {
      readSession().then(open, reopen);
    }, reopenAfterMs) as unknown as number;
  };

  const clock = setInterval(() => {
    nowMs.value = Date.now();
    const isSilent = Date.now() - lastEventAtMs.peek() > silentForMs;
    if (!isSilent || connection.peek() === "lost") return;
    connection.value = "lost";
    reopen();
  }, 1_000);

  forget();
  open();
  return () => {
    isOver = true;
    source?.close();
    clearTimeout(reopening);
    clearInterval(clock);
  };
}
