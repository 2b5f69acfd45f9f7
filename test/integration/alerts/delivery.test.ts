import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Outcome } from "#alerts/outcome.ts";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import {
  buildDirectOrder,
  buildEpisode,
  buildOrder,
  eventIdsOf,
} from "../../support/alerts/alert-builders.ts";
import type { Answer } from "../../support/alerts/alert-receiver.ts";
import { slackChannel } from "../../support/alerts/message-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const episodes = (count: number) =>
  Array.from({ length: count }, (_, i) => buildEpisode({ episode: i + 1 })).flat();

const gaps = (timesMs: number[]) => timesMs.slice(1).map((timeMs, i) => timeMs - (timesMs[i] ?? 0));

/** A token bucket, as the service describes its own; empty when it is first asked. */
function limitRate(perSecond: number): () => Answer {
  let tokens = 0;
  let askedAtMs: number | undefined;
  return () => {
    const nowMs = Date.now();
    const passedMs = nowMs - (askedAtMs ?? nowMs);
    tokens = Math.min(perSecond, tokens + (passedMs / 1_000) * perSecond);
    askedAtMs = nowMs;
    if (tokens < 1) return { status: 429, headers: { "retry-after": "1" } };
    tokens -= 1;
    return "accept";
  };
}

describe("delivery of alert events", () => {
  it("delivers a check's events once each, in their order", async () => {
    const bench = await startAlertBench();

    await bench.enqueue(episodes(5));

    await bench.untilReceived(10);
    expect(bench.receivedIds()).toEqual(eventIdsOf(5));
    expect(bench.receiver.faults).toEqual([]);
  });

  it("posts to the source of the environment, with the check's id as the deduplication key", async () => {
    const bench = await startAlertBench();

    await bench.enqueue([buildOrder()]);

    await bench.untilReceived(1);
    expect(bench.receiver.events[0]).toMatchObject({
      path: "/v2/alert_events/checkly/01SOURCE",
      deduplicationKey: "verify-key",
      status: "firing",
    });
  });

  it("delivers an event once however often it is enqueued", async () => {
    const bench = await startAlertBench();
    const [opened, resolved] = buildEpisode() as [never, never];

    await bench.enqueue([opened, opened, opened]);
    await bench.untilReceived(1);
    await bench.enqueue([opened, resolved]);

    await bench.untilReceived(2);
    expect(bench.receivedIds()).toEqual(eventIdsOf(1));
  });

  it("drops an event whose check has no channel", async () => {
    const bench = await startAlertBench();

    await bench.enqueue([{ ...buildOrder(), channel: null }, buildOrder({ episode: 2 })]);

    await bench.untilReceived(1);
    expect(bench.receivedIds()).toEqual(["verify-key:2:opened"]);
  });

  it("retries after errors, broken connections and timeouts, later each time", async () => {
    const bench = await startAlertBench({ attemptTimeoutMs: 300 });
    bench.receiver.script.push({ status: 500 }, "reset", "hang");

    await bench.enqueue(buildEpisode());

    await bench.untilReceived(2);
    expect(bench.receivedIds()).toEqual(eventIdsOf(1));
    const [first = 0, second = 0, third = 0] = gaps(bench.receiver.attemptsAtMs);
    expect(first).toBeGreaterThanOrEqual(990);
    expect(second).toBeGreaterThanOrEqual(1_990);
    expect(third).toBeGreaterThanOrEqual(4_290);
  });

  it.each([
    { form: "seconds", header: () => "2" },
    { form: "a date", header: () => new Date(Date.now() + 3_000).toUTCString() },
  ])("waits as long as the service asks by $form", async ({ header }) => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 429, headers: { "retry-after": header() } });

    await bench.enqueue([buildOrder()]);

    await bench.untilReceived(1);
    expect(gaps(bench.receiver.attemptsAtMs)[0]).toBeGreaterThanOrEqual(1_900);
  });

  it("gets every event of many checks to a service that limits the rate", async () => {
    // Longer than a busy machine needs for an answer: an attempt that is given up is made again.
    const bench = await startAlertBench({ attemptTimeoutMs: 20_000 });
    const perSecond = 20;
    bench.receiver.behave = limitRate(perSecond);
    const checkIds = Array.from({ length: 30 }, (_, i) => `check-${i}`);

    await bench.enqueue(checkIds.flatMap((checkId) => buildEpisode({ checkId })));

    await bench.untilReceived(60);
    const ids = bench.receivedIds();
    expect(new Set(ids)).toEqual(
      new Set(checkIds.flatMap((id) => [`${id}:1:opened`, `${id}:1:resolved`])),
    );
    expect(ids).toHaveLength(60);
    expect(bench.receiver.attemptsAtMs.length).toBeGreaterThan(60);
  });

  it("sends an event again under the same id when its answer was lost", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push("lost");

    await bench.enqueue(buildEpisode());

    await bench.untilReceived(3);
    expect(bench.receivedIds()).toEqual(["verify-key:1:opened", ...eventIdsOf(1)]);
  });

  it("enqueues events at once while the receiver hangs, and delivers those of other checks", async () => {
    const bench = await startAlertBench({ attemptTimeoutMs: 20_000 });
    bench.receiver.script.push("hang");
    await bench.enqueue([buildOrder()]);
    await bench.untilAttempted(1);
    const startedAtMs = Date.now();

    await bench.enqueue([...episodes(10).slice(1), buildOrder({ checkId: "liveness" })]);

    await bench.untilReceived(1);
    expect(bench.receivedIds()).toEqual(["liveness:1:opened"]);
    expect(Date.now() - startedAtMs).toBeLessThan(5_000);
  });

  it("takes a new token from the file without a restart", async () => {
    const bench = await startAlertBench();
    await bench.enqueue([buildOrder()]);
    await bench.untilReceived(1);

    bench.receiver.token = "secret-part-two";
    writeFileSync(bench.tokenFile, "secret-part-two");
    await bench.enqueue([buildOrder({ kind: "resolved" })]);

    await bench.untilReceived(2);
    expect(bench.receiver.faults).toEqual([]);
  });

  it("keeps all events while the token is refused, and delivers them in order once it works", async () => {
    const bench = await startAlertBench();
    bench.receiver.token = "secret-part-two";
    await bench.enqueue(episodes(2));
    await bench.untilAttempted(2);
    const waiting = await bench.list({ status: "pending" });

    writeFileSync(bench.tokenFile, "secret-part-two");

    await bench.untilReceived(4);
    expect(bench.receivedIds()).toEqual(episodes(2).map(({ transition }) => transition.eventId));
    expect(waiting.map(({ cause }) => cause)).toContain(
      "the source's token is refused: status 401 authentication_error (request req-1)",
    );
    expect(await bench.list({ status: "dead" })).toEqual([]);
  });

  it("records events and posts nothing when the settings name no source", async () => {
    const bench = await startAlertBench({ isUnconfigured: true });

    await bench.enqueue(episodes(1));

    await bench.untilStatus("verify-key:1:resolved", "not_posted");
    expect(bench.receiver.attemptsAtMs).toEqual([]);
  });

  it("notes when events were accepted, after how many attempts and with which delay", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 500 });
    const atMs = Date.now() - 1_000;

    await bench.enqueue([buildOrder({ atMs, openedAtMs: atMs })]);

    const event = await bench.untilStatus("verify-key:1:opened", "accepted");
    expect(event).toMatchObject({ attempts: 2, cause: null });
    expect(event.delay_ms).toBeGreaterThanOrEqual(2_000);
    expect(bench.noted).toEqual([
      { eventId: "verify-key:1:opened", atMs: Date.parse(event.accepted_at ?? "") },
    ]);
  });

  it("records once the database is back what was accepted while it was down", async () => {
    const sent: string[] = [];
    const isSending = Promise.withResolvers<void>();
    const isAccepted = Promise.withResolvers<Outcome>();
    const bench = await startAlertBench({
      killsPostgres: true,
      send: (_, message) => {
        sent.push(message.eventId);
        isSending.resolve();
        return isAccepted.promise;
      },
    });
    const kinds = ["opened", "resolved"] as const;
    await bench.enqueue(kinds.map((kind) => buildDirectOrder(slackChannel, { kind })));
    await isSending.promise;

    await bench.server.kill9();
    isAccepted.resolve({ kind: "accepted" });
    await waitFor(() => bench.logLines.some((line) => line.includes("wait for the database")), {
      withinMs: 10_000,
      what: "the warning",
    });
    await bench.server.restart();

    const queue = `verify-key@${slackChannel.id}`;
    await bench.untilStatus(`${queue}:1:resolved`, "accepted");
    expect(sent).toEqual(eventIdsOf(1, queue));
    const warnings = bench.logLines.filter((line) => line.includes("wait for the database"));
    expect(warnings).toHaveLength(1);
  });

  it("sends an event at once while the database is down, on request", async () => {
    const bench = await startAlertBench({ killsPostgres: true });
    await bench.server.kill9();

    const outcome = await bench.sendNow(buildOrder());

    expect(outcome).toEqual({ kind: "accepted" });
    expect(bench.receivedIds()).toEqual(["verify-key:1:opened"]);
  });

  it("delivers an event of whose text Postgres cannot store a part", async () => {
    const bench = await startAlertBench();

    await bench.enqueue([buildOrder({ reason: "\0" }), buildOrder({ kind: "resolved" })]);

    await bench.untilStatus("verify-key:1:resolved", "accepted");
    expect(bench.receivedIds()).toEqual(eventIdsOf(1));
  });

  it("records other events although Postgres can never store one of them", async () => {
    const bench = await startAlertBench();
    const tooLate = buildOrder({ checkId: "liveness", episode: 3_000_000_000 });

    await bench.enqueue([tooLate, buildOrder()]);

    await bench.untilStatus("verify-key:1:opened", "accepted");
    expect(new Set(bench.receivedIds())).toEqual(
      new Set(["liveness:3000000000:opened", "verify-key:1:opened"]),
    );
    expect(bench.logLines.join("")).toContain("alert record given up");
  });

  it("shows pending events and dead letters to Prometheus", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 404 }, { status: 503, headers: { "retry-after": "60" } });
    await bench.enqueue([buildOrder(), buildOrder({ checkId: "liveness" })]);

    // The two are recorded each by itself, in either order.
    const isThere = (metrics: string, name: string) => metrics.includes(`${name} 1\n`);
    const names = ["vedette_alert_dead_letters", "vedette_alert_events_pending"];
    await waitFor(
      async () => {
        const metrics = await bench.registry.metrics();
        return names.every((name) => isThere(metrics, name));
      },
      { withinMs: 10_000, what: "the dead letter and the pending event" },
    );

    // Anew: those that ask the database are of a later moment than the others of their answer.
    const metrics = await bench.registry.metrics();
    expect(names.filter((name) => !isThere(metrics, name))).toEqual([]);
    expect(metrics).toContain('attempts_total{channel="production",outcome="refused"} 1');
  });

  it("keeps the token out of the log, of the answers and of what is stored", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 500 }, "reset", { status: 404 });
    await bench.enqueue(episodes(2));
    await bench.untilAttempted(2);

    // What was made of the attempts is really there: a search of nothing finds nothing.
    const stored = await waitFor(
      async () => [await bench.readStored()].find((text) => text.includes("ECONNRESET")),
      { withinMs: 10_000, what: "the outcome to be stored" },
    );
    await bench.untilReceived(2);

    const lines = [stored, ...bench.logLines, JSON.stringify(await bench.list())];
    for (const text of lines) expect(text).not.toContain("secret-part");
  });
});
