import { afterEach, expect, it, vi } from "vitest";
import { createBeginDeploys } from "#fleet/deploys/begin.ts";
import type { DeployStep } from "#fleet/deploys/contract.ts";
import type { Deployer } from "#fleet/deploys/deployer.ts";

type Begin = Deployer["begin"];

const ids = ["s1", "s2", "s3", "s4"];
const orders = ids.map((sentinelId) => ({ sentinelId, image: "r.io/a:v2", deployId: "b-1" }));

const ready: DeployStep = { status: "ready" };
const progressing: DeployStep = { status: "progressing", isPending: false };

function begun(begin: Begin, fleet = "singleton") {
  const deployer = { begin, observe: begin } as unknown as Deployer;
  return createBeginDeploys(new Map([["singleton", { deployer, deployTimeoutMs: 60_000 }]]))(
    orders,
    fleet,
  );
}

afterEach(() => {
  vi.useRealTimers();
});

it("answers with what has ended, in the order of the orders", async () => {
  const failed: DeployStep = { status: "failed", reason: "unauthorized: 401", isOfApi: true };
  const unordered: DeployStep = { status: "unordered", reason: "cancelled: not ordered" };
  const steps = [ready, failed, unordered, progressing];

  const { starts } = await begun(async ({ sentinelId }) => steps[ids.indexOf(sentinelId)] ?? ready);

  expect(starts).toEqual([
    { result: { status: "ready" } },
    { result: { status: "failed", reason: "unauthorized: 401", unasked: true } },
    { result: { status: "failed", reason: "cancelled: not ordered", ordered: false } },
    { step: progressing },
  ]);
});

it("orders only sentinels that have no other deploy in progress", async () => {
  const asked: unknown[] = [];

  await begun(async (order) => {
    asked.push(order);
    return ready;
  });

  expect(asked).toEqual(orders.map((order) => ({ ...order, onlyIfIdle: true })));
});

it("leaves one that throws to its own invocation, and no other", async () => {
  const { starts } = await begun(async ({ sentinelId }) => {
    if (sentinelId === "s2") throw new Error("the database is away");
    return ready;
  });

  const done = { result: { status: "ready" } };
  expect(starts).toEqual([done, {}, done, done]);
});

it("leaves one that hangs to its own invocation", async () => {
  vi.useFakeTimers();
  const answer = begun(({ sentinelId }) =>
    sentinelId === "s2" ? new Promise(() => {}) : Promise.resolve(ready),
  );
  await vi.advanceTimersByTimeAsync(5_000);

  const { starts, isQuick } = await answer;

  expect(starts.map((start) => Object.keys(start))).toEqual([
    ["result"],
    [],
    ["result"],
    ["result"],
  ]);
  expect(isQuick).toBe(false);
});

it("leaves the deploys of a fleet that is not in the settings to their own invocations", async () => {
  expect(await begun(async () => ready, "lost")).toEqual({
    starts: [{}, {}, {}, {}],
    isQuick: false,
  });
});

it.each([
  { ended: 4, tookMs: 0, isQuick: true },
  { ended: 2, tookMs: 500, isQuick: true },
  { ended: 1, tookMs: 0, isQuick: false },
  { ended: 4, tookMs: 501, isQuick: false },
])("is quick: $isQuick, when $ended of 4 end within $tookMs ms", async (given) => {
  vi.useFakeTimers();
  const answer = begun(async ({ sentinelId }) => {
    await new Promise((resolve) => setTimeout(resolve, given.tookMs));
    return ids.indexOf(sentinelId) < given.ended ? ready : progressing;
  });
  await vi.advanceTimersByTimeAsync(given.tookMs);

  expect((await answer).isQuick).toBe(given.isQuick);
});
