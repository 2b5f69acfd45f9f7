/** Several processes that deliver from the same queues. */
import { Registry } from "prom-client";
import { expect, it, onTestFinished } from "vitest";
import type { SendToChannel } from "#alerts/channels/message.ts";
import type { AlertOrder, DrillOutcome } from "#alerts/contract.ts";
import { createDelivery } from "#alerts/delivery.ts";
import { type Order, routeOrder } from "#alerts/order.ts";
import { enqueue, goOn } from "#alerts/outbox.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { createQueueStore } from "#alerts/queue-store.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { createAlertServices } from "#alerts/services.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { buildDirectOrder, eventIdsOf, noLinks } from "../../support/alerts/alert-builders.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { readActor } from "../../support/signed-call.ts";
import { waitFor } from "../../support/wait-for.ts";

const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/" });
const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const log = createLog({ level: "silent", format: "json" });
const accepted: Outcome = { kind: "accepted" };

type Event = NonNullable<Parameters<typeof buildDirectOrder>[1]>;

const queued = (channel: DirectChannel, event: Event) => ({
  queue: `${event.checkId ?? "verify-key"}@${channel.id}`,
  order: routeOrder(buildDirectOrder(channel, event) as AlertOrder) as Order,
});

const episodesOf = (count: number, checkId: string) =>
  Array.from({ length: count }, (_, i) =>
    (["opened", "resolved"] as const).map((kind) =>
      queued(hook, { checkId, episode: i + 1, kind }),
    ),
  ).flat();

type Options = {
  send?: SendToChannel;
  notifyDrill?: (outcome: DrillOutcome) => Promise<void>;
};

async function startBench({ send, notifyDrill = async () => {} }: Options = {}) {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const sent: { id: string; channel: string; atMs: number }[] = [];
  const startDelivery = () => {
    const { delivery } = createAlertServices({
      sourceOf: () => undefined,
      linkTo: noLinks,
      attemptTimeoutMs: 1_000,
      giveUpAfterMs: 3_600_000,
      keepDays: 30,
      database,
      recordAccepted: async () => {},
      notifyDrill,
      registry: new Registry(),
      log,
      readActor,
      send: async (channel, message) => {
        sent.push({ id: message.eventId, channel: channel.id, atMs: performance.now() });
        return send?.(channel, message) ?? accepted;
      },
      webhookUrlOf: () => "",
      channelsOf: () => [],
      readChannels: async () => [hook, chat],
    });
    delivery.start();
    onTestFinished(delivery.stop);
    return delivery;
  };
  const untilSent = (count: number) =>
    waitFor(() => sent.length >= count, { withinMs: 20_000, what: `${count} attempts` });
  const untilAccepted = (count: number) =>
    waitFor(
      async () => {
        const text = "SELECT 1 FROM alert_events WHERE status = 'accepted'";
        return (await database.query(text)).rowCount === count;
      },
      { withinMs: 20_000, what: `${count} accepted events` },
    );
  return { database, sent, startDelivery, untilSent, untilAccepted };
}

it("three of them deliver every event once, and those of a queue in order", async () => {
  const bench = await startBench();
  const checks = Array.from({ length: 60 }, (_, i) => `check-${i}`);
  const deliveries = [1, 2, 3].map(bench.startDelivery);

  for (const checkId of checks) await enqueue(bench.database, episodesOf(3, checkId));
  for (const { wake } of deliveries) wake();

  await bench.untilAccepted(360);
  const idsOf = (checkId: string) =>
    bench.sent.map(({ id }) => id).filter((id) => id.startsWith(`${checkId}@`));
  for (const checkId of checks) expect(idsOf(checkId)).toEqual(eventIdsOf(3, `${checkId}@hook`));
});

it("an attempt that lasts longer than a lease is made once", async () => {
  const ended = Promise.withResolvers<Outcome>();
  const bench = await startBench({ send: () => ended.promise });
  await enqueue(bench.database, [queued(hook, {})]);
  for (const { wake } of [1, 2].map(bench.startDelivery)) wake();
  await bench.untilSent(1);

  await new Promise((resolve) => setTimeout(resolve, 7_000));
  ended.resolve(accepted);

  await bench.untilAccepted(1);
  expect(bench.sent).toHaveLength(1);
});

it("five hundred queues of a channel that hangs delay no other channel", async () => {
  const never = new Promise<Outcome>(() => {});
  const bench = await startBench({
    send: async ({ id }) => (id === "chat" ? never : accepted),
  });
  const hanging = Array.from({ length: 1_500 }, (_, i) => queued(chat, { checkId: `c-${i}` }));
  await enqueue(bench.database, hanging);
  const { wake } = bench.startDelivery();
  await bench.untilSent(500);
  const startedAtMs = performance.now();

  await enqueue(bench.database, [queued(hook, {})]);
  wake();

  await bench.untilAccepted(1);
  expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  expect(bench.sent.filter(({ channel }) => channel === "chat").length).toBeLessThan(1_500);
});

it("the outcome of an attempt is dropped once another process has repeated it", async () => {
  const { database } = await startBench();
  const recordAccepted = async () => {};
  const store = createQueueStore({ database, giveUpAfterMs: 3_600_000, recordAccepted, log });
  await enqueue(database, [queued(hook, {})]);
  const all = { limit: 10, held: [], crowded: [] };
  const [lost] = (await store.take(all)).due;
  await database.query("UPDATE alert_queues SET leased_until = now()");
  const [repeated] = (await store.take(all)).due;
  if (lost === undefined || repeated === undefined) throw new Error("both have it");
  const endedAtMs = performance.now();

  const [late] = await store.finish([
    { ...lost, outcome: { kind: "refused", cause: "late" }, endedAtMs },
  ]);
  const [current] = await store.finish([{ ...repeated, outcome: accepted, endedAtMs }]);
  const [again] = await store.finish([{ ...repeated, outcome: accepted, endedAtMs }]);

  expect(late).toEqual({ next: null, step: null });
  expect(current?.step?.records).toMatchObject([{ status: "accepted" }]);
  expect(again).toEqual({ next: null, step: null });
});

it("an event that waits is tried at once when its queue is to go on", async () => {
  const answers: Outcome[] = [{ kind: "retry", cause: "down", afterMs: 200_000 }];
  const bench = await startBench({ send: async () => answers.shift() ?? accepted });
  const { wake } = bench.startDelivery();
  await enqueue(bench.database, [queued(hook, {})]);
  wake();
  await bench.untilSent(1);

  await goOn(bench.database, ["verify-key@hook"]);
  wake();

  await bench.untilAccepted(1);
});

it("an event whose next attempt is hours ahead, since the clock was set back, is tried soon", async () => {
  const answers: Outcome[] = [{ kind: "retry", cause: "down", afterMs: 200_000 }];
  const bench = await startBench({ send: async () => answers.shift() ?? accepted });
  const delivery = bench.startDelivery();
  await enqueue(bench.database, [queued(hook, {})]);
  delivery.wake();
  await bench.untilSent(1);
  await delivery.stop();
  await bench.database.query("UPDATE alert_queues SET due_at = now() + interval '1 hour'");

  bench.startDelivery();

  await bench.untilAccepted(1);
});

it("what becomes of a drill's failure is kept until Restate takes it", async () => {
  const notified: DrillOutcome[] = [];
  let isAway = true;
  const bench = await startBench({
    notifyDrill: async (outcome) => {
      if (isAway) throw new Error("Restate is away");
      notified.push(outcome);
    },
  });
  const { queue, order } = queued(hook, { checkId: "drill:weekly" });
  const transition = { ...order.transition, drill: "weekly" };
  const delivery = bench.startDelivery();
  await enqueue(bench.database, [{ queue, order: { ...order, transition } as Order }]);
  delivery.wake();
  await bench.untilAccepted(1);
  await delivery.stop();

  isAway = false;
  bench.startDelivery();

  await expect.poll(() => notified, { timeout: 10_000 }).toHaveLength(1);
  expect(notified).toEqual([{ drill: "weekly", episode: 1, channel: "@hook", status: "accepted" }]);
  await expect
    .poll(async () => (await bench.database.query("SELECT drill_outcomes FROM alert_queues")).rows)
    .toEqual([{ drill_outcomes: null }]);
});

it("an event whose outcome has to be stored twice, since its record cannot be written, is counted once", async () => {
  const counted: string[] = [];
  const { database } = await startBench();
  const store = createQueueStore({
    database,
    giveUpAfterMs: 3_600_000,
    // A text that Postgres refuses.
    recordAccepted: async (db) => void (await db.query("SELECT $1::text", ["\0"])),
    log,
  });
  const delivery = createDelivery({
    queues: store,
    attempt: async () => accepted,
    notifyDrill: async () => {},
    countAccepted: ({ event }) => counted.push(event.eventId),
    dropOld: async () => {},
    log,
  });
  onTestFinished(delivery.stop);
  delivery.start();

  await enqueue(database, [queued(hook, {})]);
  delivery.wake();

  await expect.poll(() => counted, { timeout: 10_000 }).toEqual(["verify-key@hook:1:opened"]);
});
