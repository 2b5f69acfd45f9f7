import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { LiveEvent } from "#console/events.ts";
import { createLive } from "#console/server/live.ts";
import type { Moment } from "#console/server/moment.ts";
import { createLog } from "#kernel/log.ts";
import { toStatus } from "#rollout/handlers/answer.ts";

const idle = toStatus(null);

const nothing: Moment = { recorded: undefined, members: [], fleet: [] };

beforeEach(() => {
  vi.useFakeTimers();
  return () => void vi.useRealTimers();
});

/** How the rollout is read, and after how many ms it is answered, is the test's to change. */
function startLive() {
  const sides = { image: "v1", answerAfterMs: 0, reads: 0 };
  const live = createLive({
    name: "singleton",
    readStatus: async () => {
      sides.reads += 1;
      const status = { ...idle, image: sides.image };
      await wait(sides.answerAfterMs);
      return status;
    },
    readMoment: async () => nothing,
    legalOperations: () => [],
    nowMs: () => performance.now(),
    build: "b-1",
    log: createLog({ level: "silent", format: "json" }),
  });
  return { live, sides };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What a listener was sent so far, each event as its name and the image that it tells of. */
function listenTo(live: ReturnType<typeof createLive>, lastId?: string) {
  const events: LiveEvent[] = [];
  const stop = live.listen((event) => void events.push(event), lastId);
  onTestFinished(stop);
  const told = () => events.map((event) => [event.name, imageOf(event)].filter(Boolean).join(" "));
  return { events, told, stop };
}

function imageOf({ name, data }: LiveEvent): string | null | undefined {
  return name === "beat" ? undefined : data.rollout?.status?.image;
}

it("reads again at once when an order came while it was reading", async () => {
  const { live, sides } = startLive();
  sides.answerAfterMs = 2_000;
  const { told } = listenTo(live);
  await vi.advanceTimersByTimeAsync(1_000);

  sides.image = "v2";
  sides.answerAfterMs = 0;
  live.poll();
  await vi.advanceTimersByTimeAsync(1_010);

  expect(told().filter((event) => event !== "beat")).toEqual(["state v1", "changes v2"]);
  expect(sides.reads).toBe(2);
});

it("sends beats while a poll takes long", async () => {
  const { live, sides } = startLive();
  const { told } = listenTo(live);
  await vi.advanceTimersByTimeAsync(10);
  sides.answerAfterMs = 3_600_000;

  const before = told().length;
  await vi.advanceTimersByTimeAsync(20_000);

  const beats = told().slice(before);
  expect(beats.filter((event) => event === "beat")).toHaveLength(4);
});

it("sends who comes after a while nothing before all is read anew", async () => {
  const { live, sides } = startLive();
  const first = listenTo(live);
  await vi.advanceTimersByTimeAsync(10);
  first.stop();
  await vi.advanceTimersByTimeAsync(3_600_000);

  sides.answerAfterMs = 3_000;
  sides.image = "v2";
  const { told } = listenTo(live);
  const other = listenTo(live, first.events.at(-1)?.id);
  await vi.advanceTimersByTimeAsync(2_900);
  const early = [...told(), ...other.told()];
  await vi.advanceTimersByTimeAsync(200);

  expect(early).toEqual([]);
  expect([told(), other.told()]).toEqual([
    ["beat", "state v2"],
    ["beat", "changes v2"],
  ]);
});

it("sends who comes back soon, or is not the first, what is known at once", async () => {
  const { live, sides } = startLive();
  const first = listenTo(live);
  await vi.advanceTimersByTimeAsync(10);
  first.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  sides.answerAfterMs = 3_600_000;

  const back = listenTo(live);
  const second = listenTo(live);

  expect([back.told(), second.told()]).toEqual([
    ["beat", "state v1"],
    ["beat", "state v1"],
  ]);
});

it("reads nothing while nobody looks", async () => {
  const { live, sides } = startLive();
  listenTo(live).stop();
  await vi.advanceTimersByTimeAsync(60_000);

  expect(sides.reads).toBe(1);
});

it("tells with a beat which build of the page the server has, before anything else", async () => {
  const { live } = startLive();

  const { events } = listenTo(live);
  await vi.advanceTimersByTimeAsync(10);

  expect(events[0]).toMatchObject({ name: "beat", data: { build: "b-1" } });
});
