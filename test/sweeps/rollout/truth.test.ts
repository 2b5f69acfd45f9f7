import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { startOver, untilInFlight, untilStill } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

let images = 0;
const next = () => ({
  image: `registry.example.com/vedette/sentinel:t${++images}`,
  wave_percentages: [100],
});

describe("Status, History and each caller, of one rollout", { retry: 0 }, () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 4 });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const causeOf = async (isOfApi: boolean) => {
    const failed = { status: "failed", reason: "unreachable: by its own word" } as const;
    bench.fleet.behave(() => ({ ...failed, ...(isOfApi && { isOfApi }) }));
    const { body } = await bench.call("Rollout", next());
    return body["cause"];
  };

  it("do not take a sentinel's own failure for the fleet's, whatever words it comes in", async () => {
    expect(await causeOf(false)).toBe("sentinels");
  });

  it("name the fleet when its API alone is what failed every deploy", async () => {
    expect(await causeOf(true)).toBe("fleet");
  });

  const untilImage = (image: string) =>
    waitFor(async () => (await bench.call("Status")).body["image"] === image, {
      withinMs: 10_000,
      what: "the rollout to begin",
    });

  /** What the tables have of a rollout: its own row, and a recount of its sentinels. */
  const historyOf = async (rolloutId: unknown) => {
    const { rows } = await bench.database.query(readHistory, [rolloutId]);
    return rows[0];
  };

  const untilHistorySays = (rolloutId: unknown, counts: object) =>
    waitFor(
      async () => {
        const { row, recount } = (await historyOf(rolloutId)) ?? {};
        const wanted = JSON.stringify(counts);
        return JSON.stringify(row) === wanted && JSON.stringify(recount) === wanted;
      },
      { withinMs: 10_000, what: "history to say the same" },
    );

  const killBatches = async () => {
    const rows = await bench.query(
      "SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.RolloutBatch' AND status <> 'completed'",
    );
    await Promise.all(rows.map(({ id = "" }) => bench.kill(id)));
    return rows.length;
  };

  it("say the same once the deploys that a Cancel left in flight have ended", async () => {
    bench.fleet.behave(failing(["s01", "s05", "s09"]));
    bench.fleet.hold();
    await bench.send("Rollout", next());
    await untilInFlight(bench, 4);
    await bench.call("Cancel");
    bench.fleet.release();

    const { rollout_id, succeeded, failed } = await untilStill(bench);

    expect(succeeded + failed).toBe(4);
    await untilHistorySays(rollout_id, { succeeded, failed, reverted: 0 });
  });

  it("say the same after a Cancel, and a rollback after it", async () => {
    bench.fleet.hold();
    await bench.send("Rollout", next());
    await untilInFlight(bench, 4);
    await bench.call("Cancel");
    const rollback = bench.call("RollbackAll");
    bench.fleet.release();

    const { body } = await rollback;

    expect(body).toMatchObject({ state: "cancelled", succeeded: 0, reverted: 4 });
    await untilHistorySays(body["rollout_id"], { succeeded: 0, failed: 0, reverted: 4 });
  });

  it("tell each caller of its own rollout, however many have followed", async () => {
    const [a, b, c] = [next(), next(), next()];
    bench.fleet.hold();
    const first = bench.call("Rollout", a);
    await untilInFlight(bench, 4);
    await bench.call("Cancel");
    const second = bench.call("Rollout", b);
    await untilImage(b.image);
    await bench.call("Cancel");
    const third = bench.call("Rollout", c);
    await untilImage(c.image);
    bench.fleet.release();

    const answers = await Promise.all([first, second, third]);

    expect(answers.map(({ body }) => body)).toMatchObject([
      // Answered at once, with what was still in flight then; history has how that ended.
      { state: "cancelled", image: a.image, succeeded: 0, in_flight: 4 },
      { state: "cancelled", image: b.image, succeeded: 0, in_flight: 0 },
      { state: "completed", image: c.image, succeeded: 12, in_flight: 0 },
    ]);
    const counts = { succeeded: 4, failed: 0, reverted: 0 };
    await untilHistorySays(answers[0]?.body["rollout_id"], counts);
  });

  it("count no sentinel twice when batches are killed and rollbacks are repeated", async () => {
    bench.fleet.hold();
    await bench.send("Rollout", next());
    for (let time = 0; time < 3; time++) {
      await untilInFlight(bench, 4);
      await waitFor(async () => (await killBatches()) > 0, {
        withinMs: 10_000,
        what: "a batch to be killed",
      });
    }
    bench.fleet.release();
    await untilStill(bench);
    bench.fleet.behave(failing(bench.fleet.running().keys(), "unreachable"));
    const none = await bench.call("RollbackAll");
    const noneAgain = await bench.call("RollbackAll");
    bench.fleet.behave(() => ({ status: "ready" }));

    const all = await bench.call("RollbackAll");

    expect([none, noneAgain, all].map(({ body }) => body)).toMatchObject([
      { succeeded: 12, reverted: 0 },
      { succeeded: 12, reverted: 0 },
      { succeeded: 0, failed: 0, reverted: 12, not_reverted: [] },
    ]);
    expect(none.body["not_reverted"]).toHaveLength(12);
    const counts = { succeeded: 0, failed: 0, reverted: 12 };
    await untilHistorySays(all.body["rollout_id"], counts);
  });

  it("name after a rollback whom it has left with the order to run the new image", async () => {
    bench.fleet.behave(failing(["s01"]));
    const paused = await bench.call("Rollout", next());

    const { body } = await bench.call("RollbackAll");

    const left = {
      still_ordered: [{ id: "s01", reason: "crash_loop: exit code 1" }],
      still_ordered_count: 1,
    };
    expect(paused.body).not.toHaveProperty("still_ordered");
    expect(body).toMatchObject({ ...left, not_reverted: [] });
    expect((await bench.call("Status")).body).toMatchObject(left);
    const message = await waitFor(
      () =>
        bench.chat.messages
          .map((one) => JSON.stringify(one))
          .find(
            (one) => /Rollback completed/.test(one) && one.includes(String(body["rollout_id"])),
          ),
      { withinMs: 10_000, what: "the message" },
    );
    expect(message).toContain("still ordered to the new image: s01");
  });
});

const readHistory = `
  SELECT json_build_object('succeeded', succeeded, 'failed', failed, 'reverted', reverted) AS row,
    (SELECT json_build_object(
      'succeeded', count(*) FILTER (WHERE outcome IN ('succeeded', 'not_reverted')),
      'failed', count(*) FILTER (WHERE outcome = 'failed'),
      'reverted', count(*) FILTER (WHERE outcome = 'reverted'))
     FROM rollout_sentinels WHERE rollout_id = r.id) AS recount
  FROM rollouts r WHERE id = $1`;
