import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DeployStep } from "#fleet/deploys/contract.ts";
import type { Deployer } from "#fleet/deploys/deployer.ts";
import { createStartDeploys } from "#fleet/deploys/start.ts";
import { deploying } from "../../support/rollout/deploying.ts";

type Start = Deployer["start"];
type Observe = Deployer["observe"];

const ids = ["s1", "s2", "s3", "s4"];
const orders = ids.map((sentinelId) => ({ sentinelId, image: "r.io/a:v2", deployId: "b-1" }));

const ready: DeployStep = { status: "ready" };
const progressing: DeployStep = { status: "progressing", isPending: false };

type Given = { observe?: Observe; fleet?: string; atOnce?: number };

/** The answer once so much time has passed that every deploy was looked at for the last time. */
async function startWith(start: Start, given: Given = {}) {
  const { observe = async () => progressing, fleet = "singleton", atOnce = 4 } = given;
  const deployer: Deployer = { start, observe };
  const fleets = deploying(deployer, 60_000);
  const answer = createStartDeploys(fleets)(orders, fleet, atOnce);
  await vi.advanceTimersByTimeAsync(10_000);
  return answer;
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("a group's start answers with what has ended, in the order of the orders", async () => {
  const failed: DeployStep = { status: "failed", reason: "unauthorized: 401", isOfApi: true };
  const unordered: DeployStep = { status: "unordered", reason: "cancelled: not ordered" };
  const steps = [ready, failed, unordered, progressing];

  const { starts } = await startWith(
    async ({ sentinelId }) => steps[ids.indexOf(sentinelId)] ?? ready,
  );

  expect(starts).toEqual([
    { result: { status: "ready" } },
    { result: { status: "failed", reason: "unauthorized: 401", unasked: true } },
    { result: { status: "failed", reason: "cancelled: not ordered", ordered: false } },
    { step: progressing },
  ]);
});

it("a group's start orders only sentinels that have no other deploy in progress", async () => {
  const asked: unknown[] = [];

  await startWith(async (order) => {
    asked.push(order);
    return ready;
  });

  expect(asked).toEqual(orders.map((order) => ({ ...order, onlyIfIdle: true })));
});

it("a deploy that throws is left to its own invocation, and no other one is", async () => {
  const { starts } = await startWith(async ({ sentinelId }) => {
    if (sentinelId === "s2") throw new Error("the database is away");
    return ready;
  });

  const done = { result: { status: "ready" } };
  expect(starts).toEqual([done, {}, done, done]);
});

it("a group's start orders no image that is not known", async () => {
  const start = vi.fn(async () => ready);
  const deployer: Deployer = { start, observe: async () => ready };
  const fleets = deploying(deployer, 60_000);
  const unknown = { sentinelId: "s1", image: "", deployId: "b-1" };

  const { starts } = await createStartDeploys(fleets)([unknown], "singleton", 1);

  expect(starts).toEqual([{}]);
  expect(start).not.toHaveBeenCalled();
});

it.each([
  ["hangs", () => new Promise<never>(() => {})],
  ["fails", () => Promise.reject(new Error("the database is away"))],
])("keeps what is known of one whose next look %s", async (_, observe) => {
  const { starts } = await startWith(async () => progressing, { observe });

  expect(starts).toEqual(ids.map(() => ({ step: progressing })));
});

it("a deploy that hangs is left to its own invocation", async () => {
  const { starts, isQuick } = await startWith(({ sentinelId }) =>
    sentinelId === "s2" ? new Promise(() => {}) : Promise.resolve(ready),
  );

  expect(starts.map((start) => Object.keys(start))).toEqual([
    ["result"],
    [],
    ["result"],
    ["result"],
  ]);
  expect(isQuick).toBe(false);
});

it("the deploys of a fleet that is not in the settings are left to their own invocations", async () => {
  expect(await startWith(async () => ready, { fleet: "lost" })).toEqual({
    starts: [{}, {}, {}, {}],
    isQuick: false,
    tookMs: 0,
  });
});

it("a deploy in progress is polled again, and left once it has not ended soon", async () => {
  const beganMs = performance.now();
  const looks: Record<string, number[]> = {};

  const { starts } = await startWith(async () => progressing, {
    observe: async ({ sentinelId }) => {
      const mine = [...(looks[sentinelId] ?? []), performance.now() - beganMs];
      looks[sentinelId] = mine;
      return sentinelId === "s1" && mine.length === 2 ? ready : progressing;
    },
  });

  expect(looks["s1"]).toEqual([50, 150]);
  expect(looks["s2"]).toEqual([50, 150, 350]);
  expect(starts[0]).toEqual({ result: { status: "ready" } });
  expect(starts[1]).toEqual({ step: progressing });
});

it("a deploy that the fleet has not taken, or whose polls take long, is not polled again", async () => {
  const looked: string[] = [];
  const pending: DeployStep = {
    status: "progressing",
    isPending: true,
    reason: "unreachable: 503",
  };

  const { starts } = await startWith(
    async ({ sentinelId }) => (sentinelId === "s1" ? pending : progressing),
    {
      observe: async ({ sentinelId }) => {
        looked.push(sentinelId);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return progressing;
      },
    },
  );

  expect(looked).toEqual(["s2", "s3", "s4"]);
  expect(starts[0]).toEqual({ step: pending });
});

it.each([
  { ended: 4, tookMs: 0, isQuick: true },
  { ended: 4, tookMs: 1_000, isQuick: true },
  { ended: 4, tookMs: 1_001, isQuick: false },
  { ended: 2, tookMs: 100, isQuick: true },
  { ended: 1, tookMs: 0, isQuick: false },
])("is quick: $isQuick, when $ended of 4 end within $tookMs ms", async (given) => {
  const { isQuick } = await startWith(async ({ sentinelId }) => {
    await new Promise((resolve) => setTimeout(resolve, given.tookMs));
    return ids.indexOf(sentinelId) < given.ended ? ready : progressing;
  });

  expect(isQuick).toBe(given.isQuick);
});

const aDeploy = async (tookMs: number) => new Promise((resolve) => setTimeout(resolve, tookMs));

it("the next deploys of a group follow those that end well, no more than the limit at once", async () => {
  let inFlight = 0;
  let most = 0;

  const { starts } = await startWith(
    async () => {
      most = Math.max(most, ++inFlight);
      await aDeploy(20);
      inFlight -= 1;
      return ready;
    },
    { atOnce: 2 },
  );

  expect(starts).toEqual(ids.map(() => ({ result: { status: "ready" } })));
  expect(most).toBe(2);
});

it.each<[string, (order: { sentinelId: string }) => Promise<DeployStep>, number]>([
  ["has failed", async () => ({ status: "failed", reason: "crash_loop" }), 1],
  ["was stopped", async () => ({ status: "unordered" }), 1],
  ["still progresses", async () => progressing, 1],
  ["threw", () => Promise.reject(new Error("the database is away")), 1],
  ["took so long that the next would end too late", () => aDeploy(160).then(() => ready), 1],
  ["ended in half of the time", () => aDeploy(140).then(() => ready), 2],
])("after a deploy that %s no further one of the group begins", async (_, start, begun) => {
  const { starts } = await startWith(start, { atOnce: 1 });

  expect(starts.length).toBe(begun);
});
