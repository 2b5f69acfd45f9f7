/** Metrics of each fleet's newest rollout, read from history at each scrape. */
import { Gauge, type Registry } from "prom-client";
import { inTime, onceAtATime } from "#kernel/async.ts";
import { type RolloutHistory, rolloutStates } from "#rollout/contract.ts";
import { waitReasons } from "#rollout/policy-contract.ts";
import type { HistoryStore } from "./store.ts";

type ReadNewest = Pick<HistoryStore, "newest">;

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const readTimeoutMs = 2_000;

type Rollout = Omit<RolloutHistory["rollouts"][number], "failed_before">;

/** While a fleet had no rollout, or history cannot be read in time, these metrics have no values. */
export function exposeRollouts(
  store: ReadNewest,
  { fleets, registry }: { fleets: readonly string[]; registry: Registry },
): void {
  const newest = () => store.newest(fleets);
  // A scrape collects all metrics at the same moment: they share one read, and agree.
  const read = onceAtATime(() => inTime(newest, { limitMs: readTimeoutMs, otherwise: [] }));
  for (const { valuesOf, ...gauge } of gauges) {
    const [, labelName] = gauge.labelNames;
    new Gauge({
      ...gauge,
      registers: [registry],
      async collect() {
        const rollouts = await read();
        this.reset();
        for (const { fleet, ...rollout } of rollouts) {
          for (const [label, value] of valuesOf(rollout)) {
            this.set({ fleet, [labelName]: label }, value);
          }
        }
      },
    });
  }
}

type Values = [label: string, value: number][];

const gauges: {
  name: string;
  help: string;
  labelNames: ["fleet", string];
  valuesOf: (of: Rollout) => Values;
}[] = [
  {
    name: "vedette_rollout_state",
    help: "1 for the state that the newest rollout is in, 0 for the others.",
    labelNames: ["fleet", "state"],
    valuesOf: ({ state }) => rolloutStates.map((one) => [one, state === one ? 1 : 0]),
  },
  {
    name: "vedette_rollout_waiting",
    help: "1 for what the newest rollout waits for before the next thing starts, 0 for the others.",
    labelNames: ["fleet", "for"],
    valuesOf: ({ waiting_for: wait }) => waitReasons.map((one) => [one, wait === one ? 1 : 0]),
  },
  {
    name: "vedette_rollout_ci",
    help: "What showed that the newest rollout's image has passed CI: 1, or 0 where the settings let it pass.",
    labelNames: ["fleet", "kind"],
    valuesOf: ({ ci = [] }) => ci.map(({ kind, result }) => [kind, result === "passed" ? 1 : 0]),
  },
  {
    name: "vedette_rollout_sentinels",
    help: "Sentinels of the newest rollout: all of them, and by outcome.",
    labelNames: ["fleet", "outcome"],
    valuesOf: (rollout) =>
      (["total", "succeeded", "failed", "reverted", "left_out"] as const).map((one) => [
        one,
        rollout[one],
      ]),
  },
  {
    name: "vedette_rollout_wave",
    help: "The newest rollout's current wave, from 1, and how many it has.",
    labelNames: ["fleet", "which"],
    valuesOf: ({ current_wave: current, total_waves: total }) => [
      ["current", current],
      ["total", total],
    ],
  },
  {
    name: "vedette_rollout_timestamp_seconds",
    help: "When the newest rollout was started, last changed, and ended (Unix time); ended has none before that.",
    labelNames: ["fleet", "event"],
    valuesOf: ({ started_at, updated_at, ended_at }) => [
      ["started", secondsOf(started_at)],
      ["updated", secondsOf(updated_at)],
      ...(ended_at === null ? [] : [["ended", secondsOf(ended_at)] as [string, number]]),
    ],
  },
];

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000;
}
