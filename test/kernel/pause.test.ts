import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { pause } from "#kernel/async.ts";

it("leaves no listener on the signal, however many waits it ends", async () => {
  const { signal } = new AbortController();

  for (let i = 0; i < 20; i += 1) await pause(0, signal);

  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("ends at once when the signal is aborted, before it or while it waits", async () => {
  const closing = new AbortController();
  const waiting = pause(3_600_000, closing.signal);

  closing.abort();
  await waiting;
  await pause(3_600_000, closing.signal);

  expect(getEventListeners(closing.signal, "abort")).toEqual([]);
});
