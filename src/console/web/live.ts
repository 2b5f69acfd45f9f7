/** The data of the stream of events, as signals; the fleet is a store that is changed in place. */
import { signal } from "@preact/signals";
import type {
  FleetChanges,
  FleetColumns,
  LiveRollout,
  SentinelMark,
  Trouble,
} from "#console/contract.ts";
import { readSession } from "./api.ts";
import { fleetQuery } from "./chosen-fleet.ts";

export const rollout = signal<LiveRollout | undefined>(undefined);
export const trouble = signal<Trouble>([]);
/** lost: the server cannot be reached, and the page shows the last known state. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");
/** When the last event arrived, in ms since 1970. */
export const lastEventAtMs = signal(Date.now());
/** The current time, updated every second, so that relative times such as "4 min ago" advance. */
export const nowMs = signal(Date.now());

export type Fleet = {
  ids: string[];
  regions: FleetColumns["regions"];
  waves: number[];
  marks: SentinelMark[];
  reasons: Map<number, string>;
};

export function toFleet(columns: FleetColumns): Fleet {
  return {
    ids: columns.ids,
    regions: columns.regions,
    waves: columns.waves,
    marks: [...columns.marks] as SentinelMark[],
    reasons: new Map(Object.entries(columns.reasons).map(([i, why]) => [Number(i), why])),
  };
}

export const fleet = signal<Fleet | undefined>(undefined);
/** Grows with every change in place. */
export const fleetTick = signal(0);

type OnCells = (indexes: readonly number[]) => void;
const drawers = new Set<OnCells>();

/** Calls back with the sentinels that have changed in place. Returns a function that stops this. */
export function onCells(draw: OnCells): () => void {
  drawers.add(draw);
  return () => drawers.delete(draw);
}

function applyChanges({ groups, reasons }: FleetChanges): void {
  const current = fleet.peek();
  if (current === undefined) return;
  const touched: number[] = [];
  for (const [mark, wave, runs] of groups) {
    for (const index of indexesOf(runs)) {
      current.marks[index] = mark;
      current.waves[index] = wave;
      touched.push(index);
    }
  }
  for (const [key, reason] of Object.entries(reasons)) {
    const index = Number(key);
    if (reason === null) current.reasons.delete(index);
    else current.reasons.set(index, reason);
    touched.push(index);
  }
  for (const draw of drawers) draw(touched);
  fleetTick.value += 1;
}

/** Decodes run lengths: alternately how many indexes to skip and how many to take. */
function* indexesOf(runs: readonly number[]): Generator<number> {
  let next = 0;
  for (const [turn, length] of runs.entries()) {
    const end = next + length;
    if (turn % 2 === 1) for (let index = next; index < end; index += 1) yield index;
    next = end;
  }
}

/** The server sends a beat every five seconds: after so long without an event the connection is lost. */
const silentForMs = 13_000;
const reopenAfterMs = 2_000;

/** What was shown is of another fleet, or of nobody any more. */
function forget(): void {
  rollout.value = undefined;
  fleet.value = undefined;
  trouble.value = [];
  connection.value = "connecting";
}

/** Listens to a fleet until the returned function is called. Browsers reconnect by themselves and send their last event id. */
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
    source = new EventSource(`/console/api/live${fleetQuery(fleetName)}`);
    const on = <Data>(name: string, take: (data: Data) => void) =>
      source?.addEventListener(name, (event) => {
        noteEvent();
        take(JSON.parse((event as MessageEvent<string>).data) as Data);
      });
    on<LiveRollout>("rollout", (data) => {
      rollout.value = data;
    });
    on<Partial<LiveRollout>>("progress", (parts) => {
      const { value: before } = rollout;
      if (before !== undefined) rollout.value = { ...before, ...parts };
    });
    on<FleetColumns>("fleet", (data) => {
      fleet.value = toFleet(data);
    });
    on<FleetChanges>("marks", applyChanges);
    on<Trouble>("trouble", (data) => {
      trouble.value = data;
    });
    on("beat", () => {});
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
