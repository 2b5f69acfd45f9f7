/** One check whose events go to several channels. */
import { expect, it } from "vitest";
import type { ChannelMessage, SendToChannel } from "#alerts/channels/message.ts";
import type { Outcome } from "#alerts/outcome.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { buildDirectOrder, buildEpisode, eventIdsOf } from "../../support/alerts/alert-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const chat = DirectChannel.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });
const hook = DirectChannel.parse({ id: "hook", kind: "webhook", url: "https://a.example.com/old" });

/** Notes what each channel is sent; `answers`: how each answers, by its id. */
function noteSent(answers: Record<string, () => Outcome>) {
  const sent: { channel: DirectChannel; message: ChannelMessage }[] = [];
  const send: SendToChannel = async (channel, message) => {
    sent.push({ channel, message });
    return (answers[channel.id] ?? (() => ({ kind: "accepted" })))();
  };
  const idsOf = (id: string) =>
    sent.filter(({ channel }) => channel.id === id).map(({ message }) => message.eventId);
  return { send, sent, idsOf };
}

const ordersOf = (channel: DirectChannel, episodes: number) =>
  Array.from({ length: episodes }, (_, i) =>
    (["opened", "resolved"] as const).map((kind) =>
      buildDirectOrder(channel, { kind, episode: i + 1 }),
    ),
  ).flat();

it("a channel that is down delays no other, and gets everything in order once it is back", async () => {
  let isDown = true;
  const notes = noteSent({
    chat: () =>
      isDown ? { kind: "retry", cause: "not reached", afterMs: 100 } : { kind: "accepted" },
  });
  const bench = await startAlertBench({ send: notes.send });

  await bench.enqueue([...ordersOf(chat, 2), ...ordersOf(hook, 2), ...buildEpisode()]);

  await bench.untilReceived(2);
  await bench.untilStatus("verify-key@hook:2:resolved", "accepted");
  expect(bench.receivedIds()).toEqual(eventIdsOf(1));
  expect(notes.idsOf("hook")).toEqual(eventIdsOf(2, "verify-key@hook"));
  expect(new Set(notes.idsOf("chat"))).toEqual(new Set(["verify-key@chat:1:opened"]));
  isDown = false;
  await bench.untilStatus("verify-key@chat:2:resolved", "accepted");
  const order = [...new Set(notes.idsOf("chat"))];
  expect(order).toEqual(eventIdsOf(2, "verify-key@chat"));
});

it("goes on after the worker was killed in the midst", async () => {
  const isHanging = Promise.withResolvers<void>();
  let isStuck = true;
  const notes = noteSent({});
  const bench = await startAlertBench({
    send: async (channel, message) => {
      if (!isStuck) return notes.send(channel, message);
      isHanging.resolve();
      return new Promise(() => {});
    },
  });
  await bench.enqueue(ordersOf(chat, 1));
  await isHanging.promise;
  isStuck = false;

  await bench.restartWorker();

  await bench.untilStatus("verify-key@chat:1:resolved", "accepted");
  expect(notes.idsOf("chat")).toEqual(eventIdsOf(1, "verify-key@chat"));
});

it("a dead letter of one channel is listed, shown and sent again by its own id", async () => {
  const corrected = { ...hook, url: "https://a.example.com/new" };
  const channels: DirectChannel[] = [hook];
  const notes = noteSent({
    hook: () =>
      channels[0] === hook ? { kind: "refused", cause: "status 410" } : { kind: "accepted" },
  });
  const bench = await startAlertBench({ send: notes.send, channels });
  await bench.enqueue([...ordersOf(hook, 1), ...buildEpisode()]);
  await bench.untilStatus("verify-key@hook:1:resolved", "dead");
  await bench.untilReceived(2);

  channels[0] = corrected;
  const shown = await bench.show("verify-key@hook:1:opened");
  const { body } = await bench.retry("verify-key@hook:1:opened");

  expect(shown.body).toMatchObject({ channel: "hook", status: "dead", address: corrected.url });
  expect(body["event_ids"]).toEqual(eventIdsOf(1, "verify-key@hook"));
  await bench.untilStatus("verify-key@hook:1:resolved", "accepted");
  expect(notes.sent.at(-1)?.channel).toEqual(corrected);
  expect(
    (await bench.list({ check: "verify-key" })).map(({ channel }) => channel).toSorted(),
  ).toEqual(["hook", "hook", "production", "production"]);
});

it("waiting for a destination that has too much to take is no attempt, and its remark is kept", async () => {
  const outcomes: Outcome[] = [
    { kind: "retry", cause: "busy", afterMs: 100, isPaced: true },
    { kind: "retry", cause: "busy", afterMs: 100, isPaced: true },
  ];
  const notes = noteSent({
    chat: () => outcomes.shift() ?? { kind: "accepted", remark: "1 of 2 recipients" },
  });
  const bench = await startAlertBench({ send: notes.send });

  await bench.enqueue([buildDirectOrder(chat)]);

  const event = await waitFor(
    async () => (await bench.list()).find(({ status }) => status === "accepted"),
    { withinMs: 30_000, what: "the event to be accepted" },
  );
  expect(event).toMatchObject({ attempts: 1, cause: "1 of 2 recipients", channel: "chat" });
});

it("a channel that was removed and is down leaves neither a pending event nor a dead letter", async () => {
  const notes = noteSent({ hook: () => ({ kind: "retry", cause: "not reached" }) });
  const bench = await startAlertBench({ send: notes.send, channels: [chat] });

  await bench.enqueue(ordersOf(hook, 1));

  await bench.untilStatus("verify-key@hook:1:resolved", "not_posted");
  const [opened] = await bench.list({ status: "not_posted", limit: 1 });
  expect(await bench.list({ status: "pending" })).toEqual([]);
  expect(opened?.cause ?? "").toMatch(/removed|not delivered/);
  const shown = await bench.show("verify-key@hook:1:opened");
  expect(shown.body).toMatchObject({
    address: null,
    cause: "the channel was removed: not reached",
  });
});
