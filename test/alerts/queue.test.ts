import { describe, expect, it } from "vitest";
import { eventIdOf, type NoticeOrder, type Order } from "#alerts/order.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { applyOutcome, emptyQueue, fold, type Queue, retry, type Step } from "#alerts/queue.ts";
import { buildEpisode, buildOrder } from "../support/alerts/alert-builders.ts";
import { buildNotice } from "../support/alerts/chat-builders.ts";

const hourMs = 3_600_000;

const idsOf = (entries: Queue["waiting"]) => entries.map(({ order }) => eventIdOf(order));

/** Each order comes by itself. */
const add = (queue: Queue, order: Order): Step =>
  fold(queue, { orders: [order], isDue: false, nowMs: 0 });

/** The next attempt is due. */
const wake = (queue: Queue): Step => fold(queue, { orders: [], isDue: true, nowMs: 0 });

const fill = (...orders: Order[]): Queue =>
  orders.reduce((queue, order) => add(queue, order).queue, emptyQueue);

/** The event that is attempted now, or would be. */
const dueOf = ({ waiting, probe }: Queue): number =>
  (waiting.find(({ sequence }) => sequence === probe) ?? waiting[0])?.sequence ?? 0;

/** Its attempt ends so. */
const end = (queue: Queue, outcome: Outcome, atMs = 1_000, giveUpAfterMs = hourMs): Step =>
  applyOutcome(queue, { sequence: dueOf(queue), outcome, atMs, random: 0 }, giveUpAfterMs);

const endAll = (queue: Queue, ...outcomes: Outcome[]): Queue =>
  outcomes.reduce((now, outcome) => end(now, outcome).queue, queue);

const accepted = { kind: "accepted" } as const;
const refused = { kind: "refused", cause: "status 422" } as const;
const token = { kind: "retry", cause: "status 403", isTokenRefused: true } as const;
const failed = { kind: "retry", cause: "status 500" } as const;

const statuses = ({ records }: Step) =>
  records.map(({ entry, status }) => [eventIdOf(entry.order), status]);

it("a channel that was joined again gets failure and recovery each time, in order", () => {
  const orders = [0, 1, 2].flatMap((joining) => buildEpisode({ joining }));
  const steps: Step[] = [];

  for (const _ of orders) steps.push(end(steps.at(-1)?.queue ?? fill(...orders), accepted));

  expect(steps.flatMap(statuses)).toEqual(
    orders.map(({ transition }) => [transition.eventId, "accepted"]),
  );
});

describe("notices", () => {
  const noticeOf = (id: number): NoticeOrder => {
    const to = { channel: "sentinel_rollout", topic: "sentinel_rollout" };
    return { eventId: `r-1#${id}`, notice: buildNotice({ id: `r-1#${id}` }), atMs: 0, ...to };
  };
  const numbered = (count: number) => Array.from({ length: count }, (_, id) => noticeOf(id));

  it("are not tried out of order while the channel refuses them", () => {
    const queue = endAll(fill(...numbered(3)), token, token, token, token, token);

    expect(idsOf([wake(queue).post].flatMap((one) => one ?? []))).toEqual(["r-1#0"]);
  });

  it("drop the oldest that is not being attempted when too many wait", () => {
    const queue = fill(...numbered(1_000));

    const step = add(queue, noticeOf(1_000));

    expect(statuses(step)).toEqual([
      ["r-1#1000", "pending"],
      ["r-1#1", "superseded"],
    ]);
    expect(step.queue.waiting).toHaveLength(1_000);
  });
});

describe("add", () => {
  it("delivers the first event at once", () => {
    const { post, retryAfterMs } = add(emptyQueue, buildOrder());

    expect(post).toMatchObject({ queuedAtMs: 0, order: { transition: { kind: "opened" } } });
    expect(retryAfterMs).toBeNull();
  });

  it("records an event that is due only when its attempt ends", () => {
    expect(add(emptyQueue, buildOrder()).records).toEqual([]);
  });

  it("queues later events behind the first, and records them", () => {
    const { post, queue, records } = add(fill(buildOrder()), buildOrder({ kind: "resolved" }));

    expect(post).toBeNull();
    expect(idsOf(queue.waiting)).toEqual(["verify-key:1:opened", "verify-key:1:resolved"]);
    expect(records).toMatchObject([
      { status: "pending", entry: { order: { transition: { kind: "resolved" } } } },
    ]);
  });

  it.each([
    { where: "waits", queue: fill(buildOrder()) },
    { where: "is dead", queue: endAll(fill(buildOrder()), refused) },
    { where: "was the last one accepted", queue: endAll(fill(buildOrder()), accepted) },
  ])("changes nothing for an event that $where", ({ queue }) => {
    const step = add(queue, buildOrder());

    expect(step).toEqual({ queue, post: null, retryAfterMs: null, records: [] });
  });
});

describe("a check that flaps while the receiver is away", () => {
  it("keeps the event being tried and the newest, and supersedes old episodes in between", () => {
    const flapping = Array.from({ length: 600 }, (_, i) => [
      buildOrder({ episode: i + 1 }),
      buildOrder({ kind: "resolved", episode: i + 1 }),
    ]).flat();

    const queue = fill(...flapping);

    const ids = idsOf(queue.waiting);
    expect(ids).toHaveLength(1_000);
    expect(ids[0]).toBe("verify-key:1:opened");
    expect(ids.at(-1)).toBe("verify-key:600:resolved");
    const { records } = add(queue, buildOrder({ episode: 601 }));
    expect(records.map(({ status }) => status)).toEqual(["pending", "superseded", "superseded"]);
  });
});

describe("fold", () => {
  it("adds several events in their order, and attempts the first of them", () => {
    const orders = [...buildEpisode(), buildOrder({ episode: 2 })];

    const step = fold(emptyQueue, { orders, isDue: false, nowMs: 7_000 });

    expect(idsOf(step.queue.waiting)).toEqual(orders.map(eventIdOf));
    expect(step.post?.order).toBe(orders[0]);
    expect(statuses(step)).toEqual([
      ["verify-key:1:resolved", "pending"],
      ["verify-key:2:opened", "pending"],
    ]);
  });
});

describe("an attempt that is due", () => {
  it("tries the first event again", () => {
    const waiting = end(fill(buildOrder()), failed).queue;

    const { post } = wake(waiting);

    expect(post?.attempts).toBe(1);
  });

  it("has another generation than the one before, whose outcome is dropped", () => {
    const waiting = end(fill(buildOrder()), failed).queue;

    expect(wake(waiting).queue.generation).toBeGreaterThan(waiting.generation);
    expect(wake(wake(waiting).queue).queue.generation).toBe(waiting.generation + 2);
  });

  it("does nothing when no event waits", () => {
    const step = wake(endAll(fill(buildOrder()), accepted));

    expect(step.post).toBeNull();
  });
});

describe("applyOutcome", () => {
  it("delivers the recovery once its failure is accepted", () => {
    const { post } = end(fill(...buildEpisode()), accepted);

    expect(post?.order.transition?.kind).toBe("resolved");
  });

  it("waits before the next attempt, longer each time", () => {
    const first = end(fill(buildOrder()), failed);
    const second = end(wake(first.queue).queue, failed);

    expect([first.retryAfterMs, second.retryAfterMs]).toEqual([1_000, 2_000]);
    expect(second.records[0]).toMatchObject({ status: "pending", nextAttemptAtMs: 3_000 });
  });

  it("is of the event that was tried, although another one would be tried now", () => {
    const queue = endAll(fill(...buildEpisode(), buildOrder({ episode: 2 })), token, token, token);
    const { probe = 0 } = queue;
    const retried = retry(queue, "verify-key:1:opened", 0);
    const inTurn = (retried as { queue: Queue }).queue;

    const ended = { sequence: probe, outcome: accepted, atMs: 0, random: 0 };
    const step = applyOutcome(inTurn, ended, hourMs);

    expect(dueOf(inTurn)).not.toBe(probe);
    expect(statuses(step)[0]).toEqual(["verify-key:2:opened", "accepted"]);
  });

  it("makes a refused failure and its recovery dead letters, and delivers the next failure", () => {
    const step = end(fill(...buildEpisode(), buildOrder({ episode: 2 })), refused);

    expect(statuses(step)).toEqual([
      ["verify-key:1:opened", "dead"],
      ["verify-key:1:resolved", "dead"],
    ]);
    expect(step.post?.order.transition?.eventId).toBe("verify-key:2:opened");
  });

  it("tries the newest failure too when the token is refused repeatedly for the first", () => {
    const later = [buildOrder({ episode: 2 }), buildOrder({ kind: "resolved", episode: 2 })];
    const queue = fill(...buildEpisode(), ...later, buildOrder({ episode: 3 }));

    const step = end(endAll(queue, token, token), token);

    expect(step.post?.order.transition?.eventId).toBe("verify-key:3:opened");
    const back = end(step.queue, token).queue;
    expect(wake(back).post?.order.transition?.eventId).toBe("verify-key:1:opened");
  });

  it("supersedes the events before the newest failure when that is accepted", () => {
    const queue = fill(...buildEpisode(), buildOrder({ episode: 2 }));

    const step = end(endAll(queue, token, token, token), accepted);

    expect(statuses(step)).toEqual([
      ["verify-key:2:opened", "accepted"],
      ["verify-key:1:opened", "superseded"],
      ["verify-key:1:resolved", "superseded"],
    ]);
    expect(step.queue.waiting).toEqual([]);
  });

  it("sends nothing older once it is not known whether the newest failure arrived", () => {
    const queue = fill(...buildEpisode(), buildOrder({ episode: 2 }));

    const lost = end(endAll(queue, token, token, token), failed).queue;

    expect(wake(lost).post?.order.transition?.eventId).toBe("verify-key:2:opened");
  });

  it("posts no recovery when there was nowhere to post its failure", () => {
    const step = end(fill(...buildEpisode()), { kind: "unconfigured" });

    expect(step.post).toBeNull();
    expect(statuses(step)).toEqual([
      ["verify-key:1:opened", "not_posted"],
      ["verify-key:1:resolved", "not_posted"],
    ]);
  });

  it("gives an event up when the next attempt would come too late", () => {
    const step = end(fill(buildOrder()), failed, hourMs);

    expect(step.records[0]?.entry.cause).toBe("given up: status 500");
    expect(statuses(step)).toEqual([["verify-key:1:opened", "dead"]]);
  });

  it("gives no fresh event up because a clock has jumped", () => {
    const fresh = end(fill(buildOrder()), failed).queue;
    const { attempts } = fresh.waiting[0] ?? {};

    const step = end(fresh, failed, 365 * 24 * hourMs, 7 * 24 * hourMs);

    expect(attempts).toBe(1);
    expect(statuses(step)).toEqual([["verify-key:1:opened", "pending"]]);
  });

  it("gives up an event that waited as long behind one that was given up", () => {
    const givenUp = end(fill(buildOrder(), buildOrder({ episode: 2 })), failed, hourMs).queue;

    const step = end(givenUp, failed, 8 * 24 * hourMs, 7 * 24 * hourMs);

    expect(statuses(step)).toEqual([["verify-key:2:opened", "dead"]]);
  });

  it("supersedes dead letters by a later event that is accepted", () => {
    const step = end(endAll(fill(buildOrder(), buildOrder({ episode: 2 })), refused), accepted);

    expect(step.queue.dead).toEqual([]);
    expect(statuses(step)).toContainEqual(["verify-key:1:opened", "superseded"]);
  });

  it("keeps the last hundred dead letters", () => {
    const orders = Array.from({ length: 101 }, (_, i) => buildOrder({ episode: i + 1 }));

    const { dead } = endAll(fill(...orders), ...orders.map(() => refused));

    expect(dead).toHaveLength(100);
    expect(idsOf(dead)[0]).toBe("verify-key:2:opened");
  });
});

describe("retry", () => {
  it("sends a dead failure with its recovery, and restarts their time limit", () => {
    const dead = endAll(fill(...buildEpisode()), refused);

    const answer = retry(dead, "verify-key:1:opened", 5_000);

    expect(answer).toMatchObject({
      eventIds: ["verify-key:1:opened", "verify-key:1:resolved"],
      isDue: true,
      queue: {
        dead: [],
        waiting: [
          { queuedAtMs: 5_000, attempts: 0, cause: null },
          { queuedAtMs: 5_000, attempts: 0, cause: null },
        ],
      },
    });
  });

  it("of a channel that was joined again, sends a failure with its own recovery alone", () => {
    const orders = [...buildEpisode(), ...buildEpisode({ joining: 1 })];
    const queue = endAll(fill(...orders), refused, refused);

    const again = retry(queue, "verify-key:1:opened", 9_000);
    const joined = retry(queue, "verify-key:1-1:opened", 9_000);

    expect(again).toMatchObject({ eventIds: ["verify-key:1:opened", "verify-key:1:resolved"] });
    expect(joined).toMatchObject({
      eventIds: ["verify-key:1-1:opened", "verify-key:1-1:resolved"],
    });
  });

  it("tries an event that waits at once", () => {
    const waiting = end(fill(buildOrder()), failed).queue;

    expect(retry(waiting, "verify-key:1:opened", 0)).toMatchObject({
      eventIds: ["verify-key:1:opened"],
      isDue: true,
      queue: { waiting: [{ attempts: 1 }] },
    });
  });

  it("refuses a dead letter while a newer event is on its way", () => {
    const dead = endAll(fill(buildOrder(), buildOrder({ episode: 2 })), refused);

    expect(retry(dead, "verify-key:1:opened", 0)).toBe("superseded");
  });

  it("knows nothing of an event that was accepted", () => {
    const done = endAll(fill(buildOrder()), accepted);

    expect(retry(done, "verify-key:1:opened", 0)).toBeNull();
  });
});
