import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { expect, it } from "vitest";
import { createStops } from "#app/stops.ts";

/** Stops, and the lines that they log. */
function createNoted() {
  const lines: { part?: string; err?: { message: string } }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  return { lines, stops: createStops(log) };
}

it("the shutdown stops the parts in reverse order, one after the other", async () => {
  const { stops } = createNoted();
  const told: string[] = [];
  for (const part of ["database", "server"]) {
    stops.add(part, async () => {
      told.push(`${part} stops`);
      await delay(1);
      told.push(`${part} has stopped`);
    });
  }

  await stops.run();

  expect(told).toEqual([
    "server stops",
    "server has stopped",
    "database stops",
    "database has stopped",
  ]);
});

it("the shutdown logs a part that fails to stop, or not in time, and stops the others", async () => {
  const { lines, stops } = createNoted();
  let hasStopped = false;
  stops.add("database", () => {
    hasStopped = true;
  });
  stops.add("store", () => new Promise(() => {}), 10);
  stops.add("server", () => {
    throw new Error("it is broken");
  });

  await stops.run();

  expect(lines.map(({ part, err }) => [part, err?.message])).toEqual([
    ["server", "it is broken"],
    ["store", "it did not stop within 10 ms"],
  ]);
  expect(hasStopped).toBe(true);
});

it("the shutdown stops nothing twice", async () => {
  const { stops } = createNoted();
  let times = 0;
  stops.add("database", () => {
    times += 1;
  });

  await stops.run();
  await stops.run();

  expect(times).toBe(1);
});

it("also stops a part that was begun or added after the abort", async () => {
  const told = new AbortController();
  const stops = createStops(pino({ level: "silent" }), told.signal);
  const stopped: string[] = [];
  const begun = Promise.withResolvers<{ stop: () => void }>();
  const beginning = stops.start("server", () => begun.promise);
  told.abort();

  expect(() => stops.add("database", () => stopped.push("database"))).toThrow("aborted");
  const running = stops.run();
  begun.resolve({ stop: () => stopped.push("server") });
  await Promise.all([running, beginning]);

  expect(stopped).toEqual(["database", "server"]);
});

it("no part starts after the abort", async () => {
  const stops = createStops(pino({ level: "silent" }), AbortSignal.abort());
  let hasBegun = false;

  const beginning = stops.start("server", async () => {
    hasBegun = true;
    return { stop: () => {} };
  });

  await expect(beginning).rejects.toThrow("aborted");
  expect(hasBegun).toBe(false);
});
