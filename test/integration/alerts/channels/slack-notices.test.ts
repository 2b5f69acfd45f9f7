import { describe, expect, it } from "vitest";
import { startChatBench } from "../../../support/alerts/chat-bench.ts";
import { buildNotice } from "../../../support/alerts/chat-builders.ts";
import { waitFor } from "../../../support/wait-for.ts";

const messagesOf = (...ids: string[]) => ids.map((id) => buildNotice({ id }));

type Bench = Awaited<ReturnType<typeof startChatBench>>;

const untilReceived = (bench: Bench, count: number) =>
  waitFor(() => bench.chat.messages.length >= count, {
    withinMs: 30_000,
    what: `${count} messages to arrive`,
  });

const untilLogged = (bench: Bench, text: string) =>
  waitFor(() => bench.logLines.some((line) => line.includes(text)), {
    withinMs: 30_000,
    what: `the log line "${text}"`,
  });

const idOf = (id: string) => `sentinel_rollout@sentinel_rollout:${id}`;

const untilRecorded = (bench: Bench, record: object) =>
  expect.poll(bench.readRecords, { timeout: 5_000 }).toContainEqual(record);

const untilAttempted = (bench: Bench, count: number) =>
  waitFor(() => bench.chat.attemptsAtMs.length >= count, {
    withinMs: 30_000,
    what: `${count} attempts`,
  });

const gaps = (timesMs: number[]) => timesMs.slice(1).map((timeMs, i) => timeMs - (timesMs[i] ?? 0));

describe("notices at a Slack webhook", () => {
  it.each([
    { mode: "as usual", alwaysReplay: false },
    { mode: "with every step replayed", alwaysReplay: true },
  ])("delivers messages once each, in the order they were sent, $mode", async (mode) => {
    const ids = Array.from({ length: 10 }, (_, i) => `r-1#${i}`);
    const bench = await startChatBench(mode);

    await bench.send(messagesOf(...ids));

    await untilReceived(bench, ids.length);
    expect(bench.receivedIds()).toEqual(ids);
    expect(bench.chat.faults).toEqual([]);
  });

  it("leaves the spacing between messages", async () => {
    const bench = await startChatBench({ spacingMs: 300 });

    await bench.send(messagesOf("a", "b", "c", "d"));

    await untilReceived(bench, 4);
    expect(Math.min(...gaps(bench.chat.attemptsAtMs))).toBeGreaterThanOrEqual(295);
  });

  it("waits as long as the chat service asks, and keeps the order", async () => {
    const bench = await startChatBench({
      replies: [{ status: 429, headers: { "retry-after": "2" } }],
    });

    await bench.send(messagesOf("a", "b"));

    await untilReceived(bench, 2);
    expect(bench.receivedIds()).toEqual(["a", "b"]);
    expect(gaps(bench.chat.attemptsAtMs)[0]).toBeGreaterThanOrEqual(1_990);
  });

  it("leaves the spacing before the next attempt also when the chat service asks for none", async () => {
    const bench = await startChatBench({
      replies: [{ status: 429, headers: { "retry-after": "0" } }],
      spacingMs: 500,
    });

    await bench.send(messagesOf("a"));

    await untilReceived(bench, 1);
    expect(gaps(bench.chat.attemptsAtMs)[0]).toBeGreaterThanOrEqual(495);
  });

  it("tries again after an error and after a broken connection, later each time", async () => {
    const bench = await startChatBench({ replies: [{ status: 500 }, "reset"] });

    await bench.send(messagesOf("a", "b"));

    await untilReceived(bench, 2);
    expect(bench.receivedIds()).toEqual(["a", "b"]);
    const [first = 0, second = 0] = gaps(bench.chat.attemptsAtMs);
    expect(first).toBeGreaterThanOrEqual(990);
    expect(second).toBeGreaterThanOrEqual(1_990);
  });

  it("does not wait for ever for an answer", async () => {
    const bench = await startChatBench({ replies: ["hang"] });

    await bench.send(messagesOf("a"));

    await untilReceived(bench, 1);
    expect(gaps(bench.chat.attemptsAtMs)[0]).toBeGreaterThanOrEqual(5_900);
    expect(bench.logLines.join("")).toContain("not reached: TimeoutError");
  });

  it("sends a message again under the same id when its answer was lost", async () => {
    const bench = await startChatBench({ replies: ["lost"] });

    await bench.send(messagesOf("a", "b"));

    await untilReceived(bench, 3);
    expect(bench.receivedIds()).toEqual(["a", "a", "b"]);
  });

  it("makes a notice that Slack refuses a dead letter, and continues with the next", async () => {
    const bench = await startChatBench({ replies: [{ status: 400, body: "invalid_blocks" }] });

    await bench.send(messagesOf("a"));

    await untilLogged(bench, "alert event refused");
    const refusal = bench.logLines.find((line) => line.includes("alert event refused"));
    expect(JSON.parse(refusal ?? "{}")).toMatchObject({
      level: 50,
      event: idOf("a"),
      cause: "status 400 invalid_blocks",
    });
    await untilRecorded(bench, {
      id: idOf("a"),
      status: "dead",
      cause: "status 400 invalid_blocks",
    });
    await bench.send(messagesOf("b"));
    await untilReceived(bench, 1);
    expect(bench.receivedIds()).toEqual(["b"]);
  });

  it("keeps a notice until the webhook that was deleted is there again", async () => {
    const bench = await startChatBench({ replies: [{ status: 404, body: "no_service" }] });

    await bench.send(messagesOf("a", "b"));

    await untilReceived(bench, 2);
    expect(bench.receivedIds()).toEqual(["a", "b"]);
  });

  it("gives a notice up when its time is over, and continues with the next", async () => {
    const unavailable = { status: 503 };
    const bench = await startChatBench({
      replies: [unavailable, unavailable],
      giveUpAfterMs: 2_500,
    });

    await bench.send(messagesOf("a"));

    await untilRecorded(bench, {
      id: idOf("a"),
      status: "dead",
      cause: "given up: status 503 error",
    });
    await bench.send(messagesOf("b"));
    await untilReceived(bench, 1);
    expect(bench.receivedIds()).toEqual(["b"]);
  });

  it("records a notice as not posted when there is no webhook, and logs it for debugging only", async () => {
    const bench = await startChatBench({ webhookUrl: "" });

    await bench.send(messagesOf("a"));

    await untilRecorded(bench, { id: idOf("a"), status: "not_posted", cause: "no webhook is set" });
    expect(bench.chat.attemptsAtMs).toEqual([]);
    const line = bench.logLines.find((text) => text.includes("notice not posted"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: 20, event: idOf("a") });
  });

  it("delivers what was waiting after Restate and the worker were killed", async () => {
    const bench = await startChatBench({ replies: [{ status: 500 }, { status: 500 }] });
    await bench.send(messagesOf("a", "b", "c"));
    await untilAttempted(bench, 2);

    await bench.restate.kill9();
    await bench.restartWorker();
    await bench.restate.restart();

    await untilReceived(bench, 3);
    expect(bench.receivedIds()).toEqual(["a", "b", "c"]);
  });

  it("keeps the webhook URL out of the log and of what Restate stores", async () => {
    const bench = await startChatBench({
      replies: [{ status: 500 }, "reset", { status: 404, body: "no_service" }],
      giveUpAfterMs: 60_000,
    });
    await bench.send(messagesOf("a", "b"));
    await untilAttempted(bench, 2);
    await untilLogged(bench, "not reached");

    // A search of nothing finds nothing: the row is there. The line is written before the row.
    await expect.poll(bench.readStored, { timeout: 10_000 }).toContain("not reached: ECONNRESET");
    const stored = await bench.readStored();
    await untilReceived(bench, 1);

    expect(bench.logLines.join("")).toContain("no_service");
    for (const text of [stored, ...bench.logLines]) expect(text).not.toContain("secret-part");
  });

  it("keeps a URL that cannot be reached out of the log", async () => {
    const bench = await startChatBench({ webhookUrl: "http://127.0.0.1:1/services/secret-part" });

    await bench.send(messagesOf("a"));

    await untilLogged(bench, "alert event not delivered yet");
    expect(bench.logLines.join("")).not.toContain("secret-part");
  });
});
