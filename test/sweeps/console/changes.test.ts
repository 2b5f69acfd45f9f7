import fc from "fast-check";
import { expect, it } from "vitest";
import type { FleetColumns, SentinelMark } from "#console/contract.ts";
import { countsOf, detailOf } from "#console/counts.ts";
import {
  applyCells,
  changeRollout,
  type FleetStore,
  type LiveEvent,
  type SentRollout,
  toRuns,
  toStore,
  type WholeState,
  withMembers,
} from "#console/events.ts";
import { diffStates } from "#console/server/changes.ts";
import { createReplay } from "#console/server/live.ts";

type Cell = { id: string; region: string; mark: SentinelMark; wave: number; reason: string | null };

const cell: fc.Arbitrary<Cell> = fc.record({
  id: fc.integer({ min: 0, max: 40 }).map((n) => `gw-${n}`),
  region: fc.constantFrom("ap", "eu", "us"),
  mark: fc.constantFrom<SentinelMark>("w", "p", "s", "f", "r", "n", "l", "o"),
  wave: fc.integer({ min: 0, max: 3 }),
  reason: fc.option(fc.constantFrom("image_pull_failed: no such tag", "timeout")),
});

/** Ordered by region and id, as the server sends it. */
function columnsOf(cells: readonly Cell[]): FleetColumns {
  const keyOf = ({ region, id }: Cell) => `${region} ${id}`;
  const rows = cells.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const reasons = Map.groupBy(
    [...rows.keys()].filter((index) => rows[index]?.reason != null),
    (index) => rows[index]?.reason ?? "",
  );
  return {
    regions: [...Map.groupBy(rows, ({ region }) => region)].map(([name, { length: size }]) => ({
      name,
      size,
    })),
    ids: rows.map(({ id }) => id),
    marks: rows.map(({ mark }) => mark).join(""),
    waves: rows.map(({ wave }) => wave),
    reasons: [...reasons].map(([why, indexes]) => [why, toRuns(indexes)]),
  };
}

const fleet = fc.uniqueArray(cell, { selector: ({ id }) => id, maxLength: 40 }).map(columnsOf);

const message = (sequence: number, attempts: number): SentRollout["messages"][number] => ({
  sequence,
  event: "wave started",
  actor: null,
  at: "2026-11-26T10:00:00.000Z",
  title: "Wave started",
  tone: "info",
  lines: [],
  delivery: { outcome: "delivered", attempts, detail: null, at: null },
});

const rollout = fc
  .record({
    id: fc.constantFrom("r-1", "r-2"),
    state: fc.constantFrom("in_progress" as const, "completed" as const),
    wave: fc.integer({ min: 0, max: 3 }),
    sizes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 }),
    messages: fc.uniqueArray(fc.integer({ min: 1, max: 6 })),
    attempts: fc.integer({ min: 1, max: 2 }),
  })
  .map(
    ({ id, state, wave, sizes, messages, attempts }): SentRollout => ({
      status: {
        rollout_id: id,
        state,
        image: "team/app:v2",
        current_wave: wave,
        total_waves: sizes.length,
        total: 60,
        succeeded: 0,
        failed: 0,
        in_flight: 0,
        failed_sentinels: [],
        started_at: null,
        updated_at: null,
      },
      requested_image: "team/app:v2",
      started_by: "ann",
      ended_at: null,
      wave_percentages: [10, 100],
      waves: sizes.map((size, i) => ({
        wave: i + 1,
        percentage: (i + 1) * 20,
        size,
        started_at: null,
        ended_at: null,
      })),
      messages: messages.sort((a, b) => b - a).map((sequence) => message(sequence, attempts)),
      previous_images: [],
      legal: [],
      per_second: 0,
    }),
  );

const state: fc.Arbitrary<WholeState> = fc.record({
  rollout: fc.oneof({ weight: 5, arbitrary: rollout }, { weight: 1, arbitrary: fc.constant(null) }),
  fleet: fc.oneof({ weight: 5, arbitrary: fleet }, { weight: 1, arbitrary: fc.constant(null) }),
  trouble: fc.constantFrom([], [{ part: "history", detail: "it cannot be reached" }]),
});

type Page = { rollout: SentRollout | null; fleet: FleetStore | null; trouble: unknown };

const toPage = ({ fleet: columns, ...others }: WholeState): Page => ({
  ...others,
  fleet: columns && toStore(columns),
});

/** What a page does with an event. */
function take(page: Page | undefined, event: LiveEvent): Page | undefined {
  if (event.name === "state") return toPage(structuredClone(event.data));
  if (event.name === "beat" || page === undefined) return page;
  const changes = structuredClone(event.data);
  const old = page.fleet;
  const members = changes.fleet?.members;
  const next = old && members !== undefined ? withMembers(old, members) : old;
  if (next && changes.fleet) applyCells(next, changes.fleet);
  return {
    rollout: page.rollout && changeRollout(page.rollout, changes),
    fleet: next,
    trouble: changes.trouble ?? page.trouble,
  };
}

/** The events that lead through these states. */
function eventsOf(states: readonly WholeState[]) {
  const replay = createReplay("epoch");
  const events = states.flatMap((now): LiveEvent[] => {
    const before = replay.state();
    const changes = before === undefined ? null : diffStates(before, now);
    if (changes === undefined) return [];
    return [changes === null ? replay.replace(now) : replay.change(now, changes)];
  });
  return { replay, events };
}

const states = fc.array(state, { minLength: 1, maxLength: 6 });

it("leads a page through any states, event by event", () => {
  fc.assert(
    fc.property(states, (through) => {
      const { events } = eventsOf(through);

      const page = events.reduce<Page | undefined>(take, undefined);

      expect(page).toEqual(toPage(through.at(-1) as WholeState));
    }),
  );
});

it("leads a page that was away to the same state as one that was not", () => {
  fc.assert(
    fc.property(states, fc.nat(), (through, at) => {
      const { events, replay } = eventsOf(through);
      const seen = events.slice(0, 1 + (at % events.length));

      const before = seen.reduce<Page | undefined>(take, undefined);
      const after = replay.since(seen.at(-1)?.id).reduce<Page | undefined>(take, before);

      expect(after).toEqual(toPage(through.at(-1) as WholeState));
    }),
  );
});

it("sends the whole state at most once, unless something could not be read", () => {
  const read = state.filter((one) => one.rollout !== null && one.fleet !== null);
  fc.assert(
    fc.property(fc.array(read, { minLength: 2, maxLength: 6 }), (through) => {
      const { events } = eventsOf(through);

      expect(events.filter(({ name }) => name === "state")).toHaveLength(1);
    }),
  );
});

it("counts every sentinel once, in the whole as in its wave and its list of failures", () => {
  fc.assert(
    fc.property(fleet, rollout, (columns, sent) => {
      const store = toStore(columns);
      const counts = countsOf(store, { total: sent.status.total, waves: sent.waves });
      const detail = detailOf(sent, store);
      const known = [...columns.marks].filter((mark, i) => columns.waves[i] !== 0 && mark !== "o");
      const inWaves = countsOf(store, { total: 0, waves: Array(3).fill({ size: 0 }) }).waves;

      const sum = (name: "done" | "failed" | "failed_before") =>
        inWaves.reduce((all, wave) => all + wave[name], 0);

      const results = counts.done + counts.failed + counts.failed_before;
      expect(results + counts.deploying + counts.held_back + counts.waiting).toBe(60);
      expect(sum("done") + sum("failed") + sum("failed_before")).toBe(
        known.filter((mark) => "sfrn".includes(mark)).length,
      );
      expect(detail.failures.reduce((all, { count }) => all + count, 0)).toBe(
        detail.status.failed + counts.failed_before + counts.not_reverted,
      );
      expect(detail.status.succeeded + detail.status.failed + detail.reverted).toBe(results);
    }),
  );
});

const failed = { mark: "f", reason: "image_pull_failed: manifest unknown" } as const;

/** Batches of 1,000 sentinels, scattered over the fleet, are deployed and done; one of fifty fails. */
function* rolloutOver(size: number, sent: SentRollout): Generator<WholeState> {
  const regionOf = (n: number) => ["ap", "eu", "us"][Math.floor((n * 3) / size)] ?? "";
  const cells = Array.from({ length: size }, (_, n): Cell => {
    const id = `gw-${String(n).padStart(5, "0")}`;
    return { id, region: regionOf(n), mark: "w", wave: 1 + (n % 5), reason: null };
  });
  const set = (n: number, part: Partial<Cell>) => Object.assign(cells[n] as Cell, part);
  const picture = (): WholeState => ({ rollout: sent, fleet: columnsOf(cells), trouble: [] });
  const order = Array.from({ length: size }, (_, n) => (n * 7_919) % size);
  yield picture();
  for (let first = 0; first < size; first += 1_000) {
    const batch = order.slice(first, first + 1_000);
    for (const n of batch) set(n, { mark: "p" });
    yield picture();
    for (const n of batch) set(n, n % 50 === 0 ? failed : { mark: "s" });
    yield picture();
  }
}

it.each([
  [10_000, 400_000],
  [50_000, 2_000_000],
])(
  "shows a rollout of %i sentinels to a viewer in less than %i bytes",
  (size, limit) => {
    const [sent] = fc.sample(rollout, { numRuns: 1, seed: 1 });
    const replay = createReplay("epoch");
    let bytes = 0;

    for (const state of rolloutOver(size, sent as SentRollout)) {
      const before = replay.state();
      const changes = before === undefined ? null : diffStates(before, state);
      expect(changes).not.toBe(before === undefined ? undefined : null);
      bytes += JSON.stringify(changes ?? state).length;
      if (changes) replay.change(state, changes);
      else replay.replace(state);
    }

    expect(bytes).toBeLessThan(limit);
  },
  120_000,
);

it("gives a page that missed too much the whole once, and one that missed little the rest", () => {
  const [sent] = fc.sample(rollout, { numRuns: 1, seed: 1 });
  const { events, replay } = eventsOf([...rolloutOver(60_000, sent as SentRollout)].slice(0, 121));

  expect(replay.since(events[0]?.id).map(({ name }) => name)).toEqual(["state"]);
  expect(replay.since(events.at(-3)?.id)).toEqual(events.slice(-2));
}, 120_000);
