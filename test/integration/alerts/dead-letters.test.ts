import { describe, expect, it } from "vitest";
import { startAlertBench } from "../../support/alerts/alert-bench.ts";
import { buildEpisode, buildOrder, eventIdsOf } from "../../support/alerts/alert-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const episodes = (count: number) =>
  Array.from({ length: count }, (_, i) => buildEpisode({ episode: i + 1 })).flat();

describe("events that are not accepted", () => {
  it("makes a refused failure and its recovery dead letters, and continues with the next", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 422, body: { type: "validation_error" } });

    await bench.enqueue(episodes(1));
    await bench.untilStatus("verify-key:1:resolved", "dead");

    const dead = await bench.list({ status: "dead" });
    expect(dead.map(({ event_id, cause }) => [event_id, cause])).toEqual([
      ["verify-key:1:resolved", "its failure was not delivered"],
      ["verify-key:1:opened", "status 422 validation_error"],
    ]);
    expect(bench.receiver.events).toEqual([]);
  });

  it("sends a dead failure again together with its recovery", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 400 });
    await bench.enqueue(episodes(1));
    await bench.untilStatus("verify-key:1:resolved", "dead");

    const answer = await bench.retry("verify-key:1:resolved");

    await bench.untilReceived(2);
    expect(answer).toEqual({ status: 200, body: { event_ids: eventIdsOf(1) } });
    expect(bench.receivedIds()).toEqual(eventIdsOf(1));
    await bench.untilStatus("verify-key:1:resolved", "accepted");
    expect(await bench.list({ status: "dead" })).toEqual([]);
  });

  it.each([false, true])(
    "names who sent it again, with every step replayed: %s",
    async (alwaysReplay) => {
      const bench = await startAlertBench({ alwaysReplay });
      bench.receiver.script.push({ status: 400 });
      await bench.enqueue(episodes(1));
      await bench.untilStatus("verify-key:1:resolved", "dead");
      const names = async () => (await bench.list()).map(({ retried_by }) => retried_by);
      expect(await names()).toEqual([null, null]);

      await bench.retry("verify-key:1:opened", "ada");

      await expect.poll(names).toEqual(["ada", "ada"]);
      await bench.untilStatus("verify-key:1:resolved", "accepted");
      expect(await names()).toEqual(["ada", "ada"]);
      const line = bench.logLines.find((text) => text.includes("alert events sent again"));
      expect(JSON.parse(line ?? "{}")).toMatchObject({ by: "ada", events: eventIdsOf(1) });
    },
  );

  it("shows an event with its body and where it goes, and no token", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 400 });
    await bench.enqueue([buildOrder()]);
    await bench.untilStatus("verify-key:1:opened", "dead");

    const { status, body } = await bench.show("verify-key:1:opened");

    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: "dead",
      cause: "status 400",
      address: `${bench.receiver.url}/v2/alert_events/checkly/01SOURCE`,
      body: { deduplication_key: "verify-key", status: "firing" },
    });
    expect(JSON.stringify(body)).not.toContain("secret-part");
  });

  it("refuses to show an unknown event", async () => {
    const bench = await startAlertBench();

    const { status, body } = await bench.show("verify-key:9:opened");

    expect(status).toBe(404);
    expect(JSON.stringify(body)).toContain("there is no event verify-key:9:opened");
  });

  it("does not send a dead letter again once a later event was accepted", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 400 });
    await bench.enqueue(episodes(2));
    await bench.untilReceived(2);

    const answer = await bench.retry("verify-key:1:opened");

    expect(answer.status).toBe(404);
    await bench.untilStatus("verify-key:1:opened", "superseded");
    expect(bench.receivedIds()).toEqual(eventIdsOf(2).slice(2));
  });

  it("retries a waiting event at once on request", async () => {
    const bench = await startAlertBench();
    bench.receiver.script.push({ status: 503, headers: { "retry-after": "600" } });
    await bench.enqueue([buildOrder()]);
    await waitFor(
      async () =>
        (await bench.list())[0]?.next_attempt_at !== null && bench.receiver.attemptsAtMs[0],
      { withinMs: 10_000, what: "the wait" },
    );

    await bench.retry("verify-key:1:opened");

    await bench.untilReceived(1);
    await bench.untilStatus("verify-key:1:opened", "accepted");
  });

  it("gives an event up when its time is over", async () => {
    const bench = await startAlertBench({ giveUpAfterMs: 2_500 });
    bench.receiver.behave = () => ({ status: 500 });

    await bench.enqueue([buildOrder()]);

    const event = await bench.untilStatus("verify-key:1:opened", "dead");
    expect(event).toMatchObject({ attempts: 2, cause: "given up: status 500" });
  });
});
