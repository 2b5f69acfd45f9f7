/** What waits between waves and after a rollout, killed at each of its steps and then done again. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import type { ListedPin, Pin } from "#rollout/choice/contract.ts";
import type { HeldDrift } from "#rollout/desired/converge.ts";
import { createReconciler } from "#rollout/desired/reconciler.ts";
import { createFleets } from "#rollout/fleets.ts";
import { closeGates } from "#rollout/gates/registry.ts";
import { advance } from "#rollout/handlers/advance.ts";
import { recordLook } from "#rollout/handlers/completed.ts";
import { emptyOutcome } from "#rollout/rules/outcome.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { createContext, Killed } from "../support/rollout/killed-context.ts";
import {
  buildBatch,
  buildHead,
  buildWave,
  imageV1,
  imageV2,
} from "../support/rollout/rollout-builders.ts";
import { aFleet } from "../support/rollout/rollout-fleets.ts";

const nowMs = 1_800_000_000_000;
const at = new Date(nowMs).toISOString();
const debug = imageV1.replace("v1", "debug");
const orders = { stopRun: async () => {}, countOrdered: async () => 0 };
const read = { atMs: nowMs, windows: { now: { is_open: true } }, windowsEpoch: 0, fleet: null };

/** Runs this until it ends, killed before each of its steps in turn. Each time `start` makes what it works on. */
async function killAtEach<Bench>(
  start: () => Bench,
  run: (bench: Bench, lives: number) => Promise<{ steps: () => number }>,
  expectAfter: (bench: Bench, lives: number) => void,
): Promise<void> {
  const whole = await run(start(), Number.POSITIVE_INFINITY);
  expect(whole.steps()).toBeGreaterThan(2);
  for (let lives = 0; lives < whole.steps(); lives += 1) {
    const bench = start();
    await expect(run(bench, lives)).rejects.toThrow(Killed);
    await run(bench, Number.POSITIVE_INFINITY);
    expectAfter(bench, lives);
  }
}

describe("a check of the reconciler", () => {
  const drifted = (id: string, running: string, pins: readonly Pin[]): HeldDrift => ({
    ...{ id, running, desired: imageV2, why: "drifted", sinceMs: 7, isConfirmed: true },
    isHeld: pins.some(({ ids = [] }) => ids.includes(id)),
  });

  /** s01 was changed by hand, s02 was put back. */
  function startBench() {
    const pins = new Map<string, ListedPin>();
    const written: string[] = [];
    const state = new Map<string, unknown>();
    const sent: { handler: string; request: unknown }[] = [];
    const { object } = createReconciler({
      fleets: createFleets([aFleet({ onDrift: "converge" })]),
      store: {
        compare: async (_, terms) => ({
          drifts: [drifted("s01", debug, terms.pins), drifted("s02", imageV1, terms.pins)],
          formers: new Map(),
        }),
        readImages: async () => [imageV1, imageV2],
      },
      pins: {
        add: async (pin, added_by) => {
          const row = { ...pin, added_by, added_at: at };
          if (!pins.has(pin.id)) written.push(pin.id);
          pins.set(pin.id, row);
          return row;
        },
      },
      readPins: async () => [...pins.values()],
      readPinned: async () => [],
      settingsOf: () => {
        throw new Error("it is not watched");
      },
      readGateTargets: async () => ({ rows: [] }),
      actorKey: Buffer.alloc(32),
    }) as unknown as {
      object: { check: (ctx: ObjectContext, request: object) => Promise<string> };
    };
    let checks = 0;
    const check = async (lives: number) => {
      const Status = () => ({ state: "completed", rollout_id: "r-1" });
      const context = createContext(state, lives, {
        answers: { Status },
        uuid: `check-${++checks}`,
      });
      await object.check(context.ctx, {}).finally(() => sent.push(...context.sent));
      return context;
    };
    /** The ids of the notices, and the number of convergences. */
    const effects = () => ({
      notices: [
        ...new Set(
          sent
            .filter(({ handler }) => handler === "post")
            .map(({ request }) => (request as { id: string }).id),
        ),
      ],
      converged: sent.filter(({ handler }) => handler === "converge").length,
    });
    return { pins, written, check, effects };
  }

  it("holds once, notifies once of each and converges once at most, wherever it is killed", () =>
    killAtEach(
      startBench,
      ({ check }, lives) => check(lives),
      ({ written, effects }, lives) => {
        const { notices, converged } = effects();
        expect(written, `killed after ${lives} steps`).toHaveLength(1);
        expect(notices.map((id) => id.replace(/^.*#/, "")).toSorted()).toEqual(["found", "held"]);
        expect(converged).toBeLessThanOrEqual(1);
      },
    ));

  it("does not hold again what somebody has released, wherever it was killed before", async () => {
    const { steps } = await startBench().check(Number.POSITIVE_INFINITY);
    for (let lives = 0; lives < steps(); lives += 1) {
      const { pins, written, check } = startBench();
      await check(lives).catch(() => {});
      await check(Number.POSITIVE_INFINITY);
      pins.clear();

      await check(Number.POSITIVE_INFINITY);

      expect(written, `killed after ${lives} steps`).toHaveLength(1);
    }
  });
});

describe("a wait between two waves", () => {
  const gate = {
    kind: "compare",
    name: "compare",
    minutes: 30,
    when_inconclusive: "pause",
  } as const;
  const reading = { at, value: "no difference yet", verdict: "inconclusive" } as const;
  const ledger = { sums: [1, 2, 3] } as never;

  const startBench = () => {
    const head = buildHead({
      gates: [gate],
      gateStatus: closeGates([gate], 1, nowMs),
      waves: [buildWave({ succeeded: 2 }), buildWave({ percentage: 100, firstBatch: 1 })],
      wait: { ended: 0, since: at, round: 3 },
      endedWaves: 1,
    });
    return new Map<string, unknown>([["rolloutState", head]]);
  };
  const request = {
    ...{ rolloutId: "r-1", runner: "inv_1", finishedWave: 0 },
    look: { ...read, strays: null, gates: [{ name: "compare", found: { reading, ledger } }] },
  };

  it("stores a reading of a comparison with its evidence, or nothing of it", () =>
    killAtEach(
      startBench,
      async (state, lives) => {
        const context = createContext(state, lives);
        await advance(context.ctx, request, orders);
        return context;
      },
      (state, lives) => {
        const { ledgers, gateStatus } = state.get("rolloutState") as RolloutHead;
        expect(ledgers, `killed after ${lives} steps`).toEqual({ compare: ledger });
        expect(gateStatus?.gates[0]?.count.all).toBeGreaterThanOrEqual(1);
      },
    ));
});

describe("a look at a completed rollout", () => {
  const startBench = () => {
    const batch = buildBatch(["a", "b"]);
    const head = buildHead({
      ...{ state: "completed", succeeded: 2, total: 2, totalWaves: 1, endedWaves: 1 },
      waves: [buildWave({ percentage: 100, succeeded: 2 })],
      policy: { on_failure: "rollback" },
      watchUntil: new Date(nowMs + 60_000).toISOString(),
      wait: { ended: 0, since: at, round: 0, suspects: ["a"] },
      stoppedRun: "inv_1",
    });
    const sent: string[] = [];
    const state = new Map<string, unknown>([
      ["rolloutState", head],
      ["batch:0", batch],
      ["outcome:0", { ...emptyOutcome(batch), marks: "ss" }],
    ]);
    return { state, sent };
  };
  const strays = [{ id: "a", reason: "probe_failing: it turned unhealthy", serves: "" }];
  const look = { rolloutId: "r-1", look: { ...read, gates: [], strays } };

  it("finds its fault once and rolls back once, wherever it is killed", () =>
    killAtEach(
      startBench,
      async ({ state, sent }, lives) => {
        const context = createContext(state, lives);
        const ended = () =>
          sent.push(
            ...context.sent.map(({ handler, request }) =>
              handler === "post"
                ? `${(request as { rollout: { event: string } }).rollout.event}`
                : handler,
            ),
          );
        await recordLook(context.ctx, look, orders).finally(ended);
        return context;
      },
      ({ state, sent }, lives) => {
        const head = state.get("rolloutState") as RolloutHead;
        const events = sent.filter((event) => /fault|rollback/.test(event));
        expect(head.state, `killed after ${lives} steps`).toBe("rolling_back");
        // A message is lost if its handler was ended in Restate just before it.
        expect(events, `killed after ${lives} steps`).toEqual([...new Set(events)]);
        expect(head.cause).toBe("sentinels");
      },
    ));
});
