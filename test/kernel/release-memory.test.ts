import { expect, it } from "vitest";
import { releaseMemoryOfStart } from "#kernel/process.ts";
import { waitFor } from "../support/wait-for.ts";

const heapBytes = () => process.memoryUsage().heapTotal;

it("an idle thread gives back the memory that its start took", async () => {
  const kept: object[][] = [];
  for (let round = 0; round < 40; round += 1) {
    kept.push(Array.from({ length: 20_000 }, (_, index) => ({ index, round })));
  }
  const taken = heapBytes();
  kept.length = 0;

  releaseMemoryOfStart(20);

  const fallen = () => heapBytes() < taken - 20_000_000;
  expect(await waitFor(fallen, { withinMs: 10_000, what: "the heap to be smaller" })).toBe(true);
});
