/** The order in which test files begin, as vitest gets it from its configuration. */
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createVitest } from "vitest/node";
import { fileSeconds } from "./support/run/file-seconds.ts";

/** Without the cache of an earlier run, as on a fresh checkout. */
async function orderOf(project: string): Promise<string[]> {
  const vitest = await createVitest("test", { watch: false, project });
  onTestFinished(() => vitest.close());
  const sequencer = new vitest.config.sequence.sequencer(vitest);
  const sorted = await sequencer.sort(await vitest.globTestSpecifications());
  return sorted.map(({ moduleId }) => path.relative(process.cwd(), moduleId));
}

it("every file with a known length is there", () => {
  expect(Object.keys(fileSeconds).filter((file) => !existsSync(file))).toEqual([]);
});

it("the longest files of the sweeps begin first", async () => {
  const order = await orderOf("sweeps");

  const seconds = order.map((file) => fileSeconds[file] ?? 0);
  expect(seconds).toEqual(seconds.toSorted((a, b) => b - a));
  expect(seconds.filter((one) => one > 0)).toHaveLength(Object.keys(fileSeconds).length);
});
