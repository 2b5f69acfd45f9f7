/** Counters in memory that real threads share. */
import { expect, it } from "vitest";
import { createCellMemory } from "#api/ratelimit/limiter/cell-memory.ts";
import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
import { inThreads } from "../../../../support/threads.ts";

const startMs = 1_800_000_000_000;
const durationMs = 60_000;

const create = (memory = createCellMemory({ maxCells: 64, parts: 2 })) =>
  new SharedCells(memory, { sweeps: false });

const cellAt = (nowMs: number) => ({
  sequence: Math.floor(nowMs / durationMs),
  current: 1,
  previous: 0,
});

it("are seen by all that have the memory", () => {
  const memory = createCellMemory({ maxCells: 64, parts: 2 });
  const cell = { sequence: 30_000_000, current: 2 ** 53 - 1, previous: 7 };

  create(memory).put("one", cell, durationMs);

  expect(create(memory).get("one")).toEqual(cell);
  expect(create(memory).get("another")).toBeUndefined();
  expect(create(memory).size).toBe(1);
});

it("are freed when they are over, and used again", () => {
  const cells = create(createCellMemory({ maxCells: 32, parts: 1 }));
  for (let round = 0; round < 20; round += 1) {
    const nowMs = startMs + round * 10 * durationMs;
    for (let caller = 0; caller < 32; caller += 1) {
      cells.put(`${round} ${caller}`, cellAt(nowMs), durationMs);
    }
    expect(cells.size).toBe(32);

    cells.sweep(0, nowMs + 5 * durationMs, 32);

    expect(cells.size).toBe(0);
    expect(cells.get(`${round} 0`)).toBeUndefined();
  }
});

it("releases what it holds when the work fails", () => {
  const memory = createCellMemory({ maxCells: 64, parts: 2 });
  const fail = () => {
    throw new Error("broken");
  };

  expect(() => create(memory).hold(["a", "b", "c"], fail)).toThrow("broken");
  expect(create(memory).hold(["a", "b", "c"], () => "held")).toBe("held");
});

it("counts exactly what a limit lets pass, however many threads ask at the same time", async () => {
  const source = `
    import { createLimiterOn } from "#api/ratelimit/limiter/local-limiter.ts";
    import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
    export default ({ memory, nowMs }) => {
      const limiter = createLimiterOn(new SharedCells(memory, { sweeps: false }));
      const passed = [0, 0, 0];
      for (let call = 0; call < 60_000; call += 1) {
        const caller = call % 3;
        const request = { key: "caller " + caller, limit: 50_000, durationMs: 1e12, cost: 1 };
        if (limiter.take([request], nowMs).passed) passed[caller] += 1;
      }
      return passed;
    };
  `;

  const data = { memory: createCellMemory({ maxCells: 100, parts: 2 }), nowMs: startMs };
  const perThread = await inThreads<typeof data, number[]>(4, source, data);

  const sums = [0, 1, 2].map((caller) =>
    perThread.reduce((sum, passed) => sum + (passed[caller] ?? 0), 0),
  );
  expect(sums).toEqual([50_000, 50_000, 50_000]);
});

it("takes several limits all or none, in whatever order threads name them", async () => {
  const source = `
    import { createLimiterOn } from "#api/ratelimit/limiter/local-limiter.ts";
    import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
    export default ({ memory, nowMs }, number) => {
      const limiter = createLimiterOn(new SharedCells(memory, { sweeps: false }));
      const names = Array.from({ length: 8 }, (_, index) => "name " + index);
      const order = number % 2 === 0 ? names : names.toReversed();
      const requests = order.map((key, index) => ({
        key, limit: key === "name 5" ? 7_000 : 1e9, durationMs: 1e12, cost: 1,
      }));
      let passed = 0;
      for (let call = 0; call < 5_000; call += 1) {
        if (limiter.take(requests, nowMs).passed) passed += 1;
      }
      return passed;
    };
  `;
  const memory = createCellMemory({ maxCells: 1_000, parts: 16 });

  const passed = await inThreads<object, number>(4, source, { memory, nowMs: startMs });

  expect(passed.reduce((sum, one) => sum + one, 0)).toBe(7_000);
  const cells = create(memory);
  for (let name = 0; name < 8; name += 1) {
    expect(cells.get(`1000000000000/name ${name}`)?.current).toBe(7_000);
  }
});

it("stays whole while threads fill, evict and sweep it", async () => {
  const source = `
    import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
    export default ({ memory, nowMs }, number) => {
      const cells = new SharedCells(memory, { sweeps: false });
      let torn = 0;
      for (let step = 0; step < 30_000; step += 1) {
        const name = "name " + ((step * 7_919 + number * 31) % 500);
        cells.hold([name], () => {
          const cell = cells.get(name);
          if (cell !== undefined && cell.current !== cell.previous) torn += 1;
          const sequence = nowMs / 60_000 + (step % 3);
          cells.put(name, { sequence, current: step, previous: step }, 60_000);
        });
      }
      return torn;
    };
  `;
  const memory = createCellMemory({ maxCells: 100, parts: 4 });

  const torn = await inThreads<object, number>(4, source, { memory, nowMs: startMs });

  expect(torn).toEqual([0, 0, 0, 0]);
  const cells = create(memory);
  expect(cells.size).toBeLessThanOrEqual(100);
  for (let part = 0; part < 4; part += 1) cells.sweep(part, startMs + 100 * 60_000, 1_000);
  expect(cells.size).toBe(0);
});
