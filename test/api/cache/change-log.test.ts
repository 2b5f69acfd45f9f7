import fc from "fast-check";
import { expect, it } from "vitest";
import type { Stale } from "#api/cache/invalidation.ts";
import { ChangeLog, createChangeMemory } from "#api/cache/thread-invalidations.ts";
import { inThreads } from "../../support/threads.ts";

const seed = 20_261_127;

const tag = (name: string | number): Stale => `key:${name}`;

it("every reader gets what was written since it read last, also around the end of the memory", () => {
  const tags = fc.array(fc.stringMatching(/^[a-z0-9_ü]{1,12}$/), { maxLength: 5 });
  const rounds = fc.array(tags, { maxLength: 60 });

  fc.assert(
    fc.property(rounds, (written) => {
      const memory = createChangeMemory(512);
      const writers = [new ChangeLog(memory), new ChangeLog(memory)];
      const reader = new ChangeLog(memory);

      for (const [round, names] of written.entries()) {
        const stale = names.map(tag);
        writers[round % 2]?.write(stale);

        expect(reader.hasNews()).toBe(names.length > 0);
        expect(reader.hasNews() ? reader.read() : []).toEqual(stale);
      }
    }),
    { numRuns: 200, seed },
  );
});

it("a reader starts with what is written after its construction", () => {
  const memory = createChangeMemory();
  new ChangeLog(memory).write([tag("before")]);

  const reader = new ChangeLog(memory);

  expect(reader.hasNews()).toBe(false);
});

it("a reader that has missed something learns that anything may have changed", () => {
  const memory = createChangeMemory(128);
  const writer = new ChangeLog(memory);
  const reader = new ChangeLog(memory);
  for (let round = 0; round < 20; round += 1) writer.write([tag(round)]);

  expect(reader.read()).toEqual([undefined]);

  writer.write([tag("next")]);
  expect(reader.read()).toEqual([tag("next")]);
});

it("a reader learns that anything may have changed when more has than the memory holds", () => {
  const memory = createChangeMemory(128);
  const reader = new ChangeLog(memory);

  new ChangeLog(memory).write(Array.from({ length: 100 }, (_, index) => tag(index)));

  expect(reader.read()).toEqual([undefined]);
});

it("a reader gets the change of anything as such", () => {
  const memory = createChangeMemory();
  const reader = new ChangeLog(memory);

  new ChangeLog(memory).write([tag("a"), undefined]);

  expect(reader.read()).toEqual([tag("a"), undefined]);
});

it("loses nothing and makes nothing up while threads write and a thread reads", async () => {
  const source = `
    import { ChangeLog } from "#api/cache/thread-invalidations.ts";
    export default ({ memory, ended }, number) => {
      const log = new ChangeLog(memory);
      if (number > 0) {
        for (let round = 0; round < 20_000; round += 1) log.write(["key:" + number + "." + round]);
        Atomics.add(ended, 0, 1);
        return [];
      }
      const next = [-1, -1, -1, -1];
      const faults = [];
      for (let isLast = false; ; ) {
        isLast = Atomics.load(ended, 0) === 3;
        for (const stale of log.hasNews() ? log.read() : []) {
          if (stale === undefined) {
            next.fill(-1);
            continue;
          }
          const [writer, round] = (/^key:([1-3])\\.(\\d+)$/.exec(stale) ?? []).slice(1).map(Number);
          const isNext = writer !== undefined && (next[writer] === -1 || next[writer] === round);
          if (!isNext) faults.push(stale);
          next[writer] = round + 1;
        }
        if (isLast) return faults;
      }
    };
  `;
  const memory = createChangeMemory(4_096);
  const ended = new Int32Array(new SharedArrayBuffer(4));

  const [faults] = await inThreads<object, string[]>(4, source, { memory, ended });

  expect(faults).toEqual([]);
});
