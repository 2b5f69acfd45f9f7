/** Replays, which take only the role `read`, keep the worker busy neither by what they play nor after their callers have given up. */
import { expect, it, onTestFinished, vi } from "vitest";
import { replay } from "#rollout/replay/replay.ts";
import { createReplayService } from "#rollout/replay/service.ts";
import { buildFacts } from "../../support/rollout/replay-facts.ts";

it("thirty thousand late failures at as many times are played in time", () => {
  const size = 30_000;
  const { members } = buildFacts({ size });
  const strays = Object.fromEntries(members.map(({ id }, i) => [id, 3_600_000 + i]));
  const facts = buildFacts({ size, parallel: size }, { strays });
  const policy = { soak_seconds: 7_200, wave_percentages: [100], max_failed: { in_all: "100%" } };
  const before = process.cpuUsage();

  const { would } = replay(facts, policy);

  expect(would).toMatchObject({ end: "completed", failed: size });
  // Of the processor, in microseconds: a busy machine says nothing.
  expect(process.cpuUsage(before).user).toBeLessThan(4_000_000);
});

it("no replay is begun after its caller has an error", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const first = Promise.withResolvers<ReturnType<typeof buildFacts>>();
  const readFacts = vi.fn(() => first.promise);
  const context = { run: (_: string, work: () => unknown) => work(), console: { warn: () => {} } };
  const { service } = createReplayService({
    readFacts,
    readGateTargets: async () => ({ rows: [] }),
  }) as unknown as {
    service: { Replay: (of: typeof context, request: object) => Promise<unknown> };
  };
  const codeOf = (error: { status: number }) => error.status;
  const calls = Array.from({ length: 50 }, () =>
    service.Replay(context, { rollout_id: "r-1", policy: {} }).catch(codeOf),
  );

  await vi.advanceTimersByTimeAsync(26_000);
  first.resolve(buildFacts());
  await vi.advanceTimersByTimeAsync(60_000);

  expect(new Set(await Promise.all(calls))).toEqual(new Set([503]));
  expect(readFacts).toHaveBeenCalledTimes(1);
});
