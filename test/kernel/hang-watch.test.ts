import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createHangWatch } from "#kernel/hang-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});

it("what waits for a server without a sign of life fails within five seconds", async () => {
  const watch = createHangWatch({ server: "the database", askForSign: never });
  const failed = vi.fn();
  watch.run(never).catch(failed);

  await vi.advanceTimersByTimeAsync(5_000);

  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ code: "08006" }));
});

it("a server that answers on other connections does not hang, until it stops to", async () => {
  let answers = 0;
  const working = setInterval(() => answers++, 1_000);
  const watch = createHangWatch({
    server: "the database",
    askForSign: never,
    countAnswers: () => answers,
  });
  const failed = vi.fn();
  watch.run(never).catch(failed);

  await vi.advanceTimersByTimeAsync(30_000);
  const failedWhileWorking = failed.mock.calls.length;
  clearInterval(working);
  await vi.advanceTimersByTimeAsync(7_000);

  expect([failedWhileWorking, failed.mock.calls.length]).toEqual([0, 1]);
});

it("a refusal is a sign of life", async () => {
  const watch = createHangWatch({
    server: "the database",
    askForSign: () => Promise.reject(new Error("too many connections")),
  });
  const failed = vi.fn();
  watch.run(never).catch(failed);

  await vi.advanceTimersByTimeAsync(30_000);

  expect(failed).not.toHaveBeenCalled();
});
