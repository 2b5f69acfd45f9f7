import { expect, it } from "vitest";
import type { FleetOverview } from "#fleet/overview/contract.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import type { StatusView } from "#status/contract.ts";
import { findWrong } from "#status/service.ts";
import { imageV2 } from "../support/rollout/rollout-builders.ts";

const now = "2026-11-28T02:00:00.000Z";

const idle = { rollout_id: null, state: "idle" } as RolloutStatus;
const paused = {
  ...{ rollout_id: "r1", state: "paused", image: imageV2, current_wave: 2, total_waves: 4 },
  ...{ total: 8, succeeded: 3, failed: 1 },
  standing: [
    { text: "3 of 8 run v2.", brief: "3 of 8 run v2", down: 0, failed_on_image: 0 },
    {
      text: "1 failed and serves nothing: gw-2.",
      brief: "1 failed and serves nothing",
      down: 1,
      failed_on_image: 0,
    },
  ],
} as RolloutStatus;

const overview = {
  ...{ total: 8, unhealthy: 0, sentinels: [] as { id: string }[] },
  list: { asked_at: now, problem: null, problem_at: null },
};

type Changes = { name?: string; rollout?: RolloutStatus; overview?: Partial<typeof overview> };

function aFleet({ name = "singleton", rollout = idle, overview: changes = {} }: Changes = {}) {
  return {
    ...{ name, rollout },
    overview: { ...overview, ...changes } as unknown as FleetOverview,
  };
}

function wrongOf(status: Partial<StatusView>) {
  const nothing = { alerts: [], deliveries: [], stuck: [] };
  return findWrong({ taken_at: now, fleets: [aFleet()], ...nothing, checks: { ok: 3 }, ...status });
}

const alert = {
  ...{ id: "verify-key", name: "Verify key", reason: "answered 500", channels: ["ops"] },
  ...{ quiet_until: null },
  alert: { episode: 1, opened_at: "2026-11-28T01:59:10.000Z", acknowledged_by: null },
} as unknown as StatusView["alerts"][number];

it("a calm installation has nothing wrong", () => {
  expect(wrongOf({})).toEqual([]);
});

it("sentinels that are down are named with their fleet, five at most", () => {
  const sentinels = [1, 2, 3, 4, 5, 6].map((n) => ({ id: `gw-${n}` }));
  const fleets = [aFleet({ name: "staging", overview: { unhealthy: 7, sentinels } })];

  expect(wrongOf({ fleets })).toEqual([
    {
      about: "sentinels",
      fleet: "staging",
      text: "7 of 8 sentinels of fleet staging are down: gw-1, gw-2, gw-3, gw-4, gw-5 and 2 more",
      next: "vedette sentinels list --fleet staging",
    },
  ]);
});

it("an open alert has its time with seconds, and its reason", () => {
  expect(wrongOf({ alerts: [alert] })).toMatchObject([
    { text: "Verify key alerts since 2026-11-28 01:59:10 UTC: answered 500", check: "verify-key" },
  ]);
});

it("an alert that notifies nobody says so", () => {
  const [wrong] = wrongOf({ alerts: [{ ...alert, reaches_nobody: "it has no channel" }] });

  expect(wrong?.text).toMatch(/; nobody is notified \(it has no channel\)$/);
});

it("a paused rollout is wrong, by its image and wave", () => {
  expect(wrongOf({ fleets: [aFleet({ rollout: paused })] })).toMatchObject([
    {
      about: "rollout",
      text: "the rollout of registry.example.com/vedette/sentinel:v2 is paused in wave 2 of 4: 3 of 8 run v2; 1 failed and serves nothing: gw-2",
      next: "vedette rollout status",
    },
  ]);
});

it("a paused rollout names its fleet beside its image", () => {
  const [wrong] = wrongOf({ fleets: [aFleet({ name: "own", rollout: paused })] });

  expect(wrong?.text).toMatch(/sentinel:v2 of fleet own is paused in wave 2 of 4: 3 of 8 run v2;/);
});

it("a rollout that somebody has paused says who and when", () => {
  const rollout = { ...paused, paused: { by: "ada", at: now } };
  const [wrong] = wrongOf({ fleets: [aFleet({ rollout })] });

  expect(wrong?.text).toContain("is paused by ada at 2026-11-28 02:00:00 UTC in wave 2 of 4: ");
});

it.each<Partial<RolloutStatus>>([
  { state: "cancelled", outcome: "rolled_back" },
  { state: "cancelled", outcome: "cancelled" },
  { state: "completed", outcome: "completed" },
])(
  "failed sentinels of a rollout that is over, %j, are still ordered to run its image",
  (ended) => {
    const failed_sentinels = [{ id: "gw-2", reason: "crash_loop" }];
    const rollout = { ...paused, ...ended, failed_sentinels };

    expect(wrongOf({ fleets: [aFleet({ rollout })] })).toMatchObject([
      {
        about: "rollout",
        text: "1 sentinel failed and is still ordered to run registry.example.com/vedette/sentinel:v2: gw-2; 1 failed and serves nothing",
        next: "vedette rollout status",
      },
    ]);
  },
);

it("a rollout that is over without failures is not wrong", () => {
  const rollout = { ...paused, state: "cancelled", failed: 0 } as RolloutStatus;

  expect(wrongOf({ fleets: [aFleet({ rollout })] })).toEqual([]);
});

it("a rollout in progress is not wrong", () => {
  const rollout = { ...paused, state: "in_progress" } as RolloutStatus;

  expect(wrongOf({ fleets: [aFleet({ rollout })] })).toEqual([]);
});

it("a list with a problem is wrong, whatever its age", () => {
  const list = { asked_at: "2026-11-28T01:59:00.000Z", problem: "answered 500", problem_at: now };

  expect(wrongOf({ fleets: [aFleet({ overview: { list } as never })] })).toMatchObject([
    {
      text: "the list of the fleet is 60 s old: answered 500; the health of its 8 sentinels is not known",
      next: "vedette doctor",
    },
  ]);
});

it("a list that is older than ten minutes is wrong without a problem", () => {
  const list = { asked_at: "2026-11-28T01:40:00.000Z", problem: null, problem_at: null };

  expect(wrongOf({ fleets: [aFleet({ overview: { list } as never })] })).toMatchObject([
    { text: "the list of the fleet is 20 min old; the health of its 8 sentinels is not known" },
  ]);
});

it("failing deliveries are counted by channel, with the newest cause", () => {
  const event = { channel: "ops", cause: "answered 500" };
  const deliveries = [event, { ...event, cause: "older" }] as StatusView["deliveries"];

  expect(wrongOf({ deliveries })).toMatchObject([
    { text: "2 deliveries to channel ops not accepted: answered 500" },
  ]);
});

it("invocations that do not progress are counted, with the longest and its reason", () => {
  const one = { target: "vedette.v1.CheckRun/verify-key/Run", reason: "answered 500" };
  const stuck = [one, { ...one, target: "another" }] as StatusView["stuck"];

  expect(wrongOf({ stuck })).toMatchObject([
    {
      text: "2 invocations do not progress: vedette.v1.CheckRun/verify-key/Run: answered 500",
      next: "vedette engine",
    },
  ]);
});

it("checks that the monitor does not run are counted", () => {
  expect(wrongOf({ checks: { silent: 2 } })).toMatchObject([
    { text: "the monitor does not run 2 checks", next: "vedette checks list" },
  ]);
});

it("what hurts customers comes first", () => {
  const sentinels = [{ id: "gw-1" }];
  const fleets = [aFleet({ rollout: paused, overview: { unhealthy: 1, sentinels } })];

  const order = wrongOf({ fleets, alerts: [alert], checks: { silent: 1 } });

  expect(order.map(({ about }) => about)).toEqual(["sentinels", "alert", "rollout", "checks"]);
});
