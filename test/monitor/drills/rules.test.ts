import { expect, it } from "vitest";
import type { DrillOutcome } from "#alerts/contract.ts";
import { drilledChannelOf, type Order } from "#alerts/order.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import {
  applyOutcome,
  asDrill,
  type DrillRow,
  type DrillTimer,
  decideTick,
  describeFault,
  describeRun,
  isArmed,
  isConfirmed,
  isExtended,
  isInProgress,
  ordersOf,
  startRun,
  whyBusy,
} from "#monitor/drills/rules.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const schedule = { cron: "0 9 * * 1", timezone: "Europe/Berlin" };
const heartbeat = aHeartbeat({
  id: "weekly",
  name: "Weekly drill",
  periodSeconds: undefined,
  schedule,
  drill: { graceSeconds: 900, channel: "production", directChannels: [chat] },
});
const row = asDrill(heartbeat) as DrillRow;
const minute = 60_000;
/** A Monday, 9:00 in Berlin. */
const dueAtMs = Date.UTC(2026, 0, 5, 8);
const weekMs = 7 * 86_400_000;
const timer: DrillTimer = { generation: 3, dueAtMs, schedule };
const begun = startRun(row, { dueAtMs, before: null });

function news(
  channel: string,
  status: DrillOutcome["status"],
  episode = begun.episode,
): DrillOutcome {
  return { drill: "weekly", episode, channel, status };
}

it("only a heartbeat that tests channels is a drill", () => {
  const { drill: _drill, ...other } = heartbeat;

  expect(asDrill(other)).toBeNull();
  expect(asDrill(undefined)).toBeNull();
});

it.each([
  ["there is none", null, dueAtMs - minute, false],
  ["it is for the next time", timer, dueAtMs - minute, true],
  ["its call is about to come", timer, dueAtMs + minute / 2, true],
  ["its call is lost", timer, dueAtMs + 2 * minute, false],
  ["a clock that was ahead has set it", timer, dueAtMs - weekMs - minute, false],
  ["the cron is another one", { ...timer, schedule: { ...schedule, cron: "@daily" } }, 0, false],
] as const)("whether the timer is set when %s", (_, given, nowMs, isSet) => {
  expect(isArmed(given, { schedule, nowMs })).toBe(isSet);
});

it.each([
  ["begin", {}],
  ["begin", { nowMs: dueAtMs + 15 * minute }],
  ["late", { nowMs: dueAtMs + 15 * minute + 1 }],
  ["moved", { timer: { ...timer, schedule: { ...schedule, cron: "@daily" } } }],
  ["busy", { run: { ...begun, dueAtMs: dueAtMs - weekMs } }],
  ["begin", { run: { ...begun, dueAtMs: dueAtMs - weekMs, isJudged: true } }],
  ["busy", { run: { ...begun, by: "ada" } }],
  ["begin", { run: begun }],
] as const)("a tick is decided: %s %j", (decision, given) => {
  expect(decideTick(row, { timer, run: null, nowMs: dueAtMs, ...given })).toBe(decision);
});

it("a call that is repeated after a kill keeps what was confirmed", () => {
  const before = applyOutcome(begun, news("@chat", "accepted"));

  expect(startRun(row, { dueAtMs, before })).toEqual(before);
  expect(startRun(row, { dueAtMs: dueAtMs + weekMs, before }).confirmed).toEqual([]);
});

it("a run that an operator begins is another one, also within the same minute", () => {
  const nowMs = dueAtMs + 20_000;
  const given = startRun(row, { dueAtMs: nowMs, before: begun, by: "ada" });
  const next = startRun(row, { dueAtMs: nowMs, before: given, by: "ada" });
  const scheduled = startRun(row, { dueAtMs: dueAtMs + minute, before: next });

  expect(given).toEqual({ ...begun, dueAtMs: nowMs, by: "ada", episode: begun.episode + 1 });
  expect(next.episode).toBe(given.episode + 1);
  expect(scheduled.episode).toBe(next.episode + 1);
  expect(scheduled).not.toHaveProperty("by");
});

it("a run of a later minute has the minute for its number", () => {
  const later = startRun(row, { dueAtMs: dueAtMs + 10 * minute, before: begun, by: "ada" });

  expect(later.episode).toBe(begun.episode + 10);
});

it("an operator can begin none while one waits for a channel", () => {
  const given = applyOutcome({ ...begun, by: "ada" }, news("@chat", "accepted"));
  const confirmed = applyOutcome(given, news("production", "accepted"));

  expect(whyBusy(begun)).toBe(
    "a run that the schedule began at 2026-01-05 08:00:00 UTC still waits for production, chat",
  );
  expect(whyBusy(given)).toBe(
    "a run that ada began at 2026-01-05 08:00:00 UTC still waits for production",
  );
  expect([null, confirmed, { ...begun, isJudged: true }].map(whyBusy)).toEqual([null, null, null]);
});

it("what is begun says by whom, what it tests and how long it waits", () => {
  expect(describeRun(row, { ...begun, by: "ada" })).toEqual({
    drill: "weekly",
    by: "ada",
    begun_at: "2026-01-05T08:00:00.000Z",
    due_at: "2026-01-05T08:15:00.000Z",
    channels: ["production", "chat"],
  });
});

it("a run is confirmed once every channel has accepted, in any order and more than once", () => {
  const one = applyOutcome(
    applyOutcome(begun, news("@chat", "accepted")),
    news("@chat", "accepted"),
  );
  const both = applyOutcome(one, news("production", "accepted"));

  expect([isConfirmed(begun), isConfirmed(one), isConfirmed(both)]).toEqual([false, false, true]);
});

it("a channel whose id is an environment's name does not confirm for that environment", () => {
  const drill = { ...row.drill, directChannels: [{ ...chat, id: "production" }] };
  const run = startRun({ ...row, drill }, { dueAtMs, before: null });
  const [, , sent] = ordersOf({ ...row, drill }, { episode: run.episode, atMs: dueAtMs });
  const channel = drilledChannelOf(sent?.order as Order);

  const one = applyOutcome(run, news(channel, "accepted"));

  expect([isConfirmed(one), describeFault(one, 900_000)]).toEqual([
    false,
    "the test alert was not confirmed within 15 min by production",
  ]);
  expect(isConfirmed(applyOutcome(one, news("production", "accepted")))).toBe(true);
});

it("news of another run or of another channel change nothing", () => {
  expect(applyOutcome(begun, news("@chat", "accepted", begun.episode - 1))).toBe(begun);
  expect(applyOutcome(begun, news("@mail", "accepted"))).toBe(begun);
});

it("a channel that accepted after a dead letter has confirmed", () => {
  const dead = applyOutcome(begun, news("@chat", "dead"));

  expect(applyOutcome(dead, news("@chat", "accepted")).confirmed).toEqual(["@chat"]);
});

it("a run is in progress until all have confirmed or it was evaluated", () => {
  const { episode } = begun;
  const confirmed = { ...begun, confirmed: begun.channels };

  expect(isInProgress(begun, episode)).toBe(true);
  expect(isInProgress({ ...begun, isJudged: true }, episode)).toBe(false);
  expect(isInProgress(confirmed, episode)).toBe(false);
  expect(isInProgress(begun, episode - 1)).toBe(false);
  expect(isInProgress(null, episode)).toBe(false);
});

it("a run gets the grace once more, but not twice, when nothing ran at its end", () => {
  const graceMs = 15 * minute;
  const endMs = dueAtMs + graceMs;

  expect(isExtended(begun, endMs + 1_000, graceMs)).toBe(false);
  expect(isExtended(begun, endMs + minute, graceMs)).toBe(true);
  expect(isExtended({ ...begun, isHeld: true }, endMs + minute, graceMs)).toBe(false);
});

it("the reason names the channels that did not confirm, and why", () => {
  const run = applyOutcome(begun, news("production", "dead"));

  expect(describeFault(run, 900_000)).toBe(
    "the test alert was not confirmed within 15 min by production (refused), chat",
  );
});

it("a run sends a marked failure and its recovery to each channel, under an id that no check has", () => {
  const orders = ordersOf(row, { episode: 7, atMs: dueAtMs });

  expect(orders.map(({ queue, order }) => [queue, order.transition?.eventId])).toEqual([
    ["drill:weekly", "drill:weekly:7:opened"],
    ["drill:weekly", "drill:weekly:7:resolved"],
    ["drill:weekly@chat", "drill:weekly@chat:7:opened"],
    ["drill:weekly@chat", "drill:weekly@chat:7:resolved"],
  ]);
  expect(orders[0]?.order).toMatchObject({ channel: "production", name: "[TEST] Weekly drill" });
  expect(orders[2]?.order).toMatchObject({ channel: null, target: chat });
});
