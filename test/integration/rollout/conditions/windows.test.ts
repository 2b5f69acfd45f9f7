/** Rollouts that wait until a wave may start: windows, freezes and a scheduled start. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RolloutHistory, RolloutPlan, RolloutStatus } from "#rollout/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import { modes } from "../../../support/replay.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight, untilWaitingFor } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };
const freeze = { id: "year-end", kind: "freeze", reason: "nobody is here" };

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

describe.each(modes)("a rollout with windows, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 4, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(async () => {
    const { windows } = windowHandlers.List.output.parse((await windowCall("List")).body);
    for (const { id } of windows) await remove(id);
    await startOver(bench);
  });

  const windowCall = (handler: keyof typeof windowHandlers, body: object = {}) =>
    bench.post(`${windowsName}/${handler}`, body);

  const remove = (id: string) => windowCall("Remove", { id, reason: "it is over" });

  const status = async () => RolloutStatus.parse((await bench.call("Status")).body);

  const untilWaiting = () => untilWaitingFor(bench, "window");

  it("waits before its first wave while a freeze holds, and takes the fleet as it is afterwards", async () => {
    await windowCall("Add", freeze);
    const started = bench.call("Rollout", halves);

    const waiting = await untilWaiting();
    bench.fleet.add("s99");
    await remove("year-end");
    const { body } = await started;

    expect(waiting).toMatchObject({ state: "in_progress", current_wave: 0, total: 0 });
    expect(waiting.reason).toBe("waits, since the freeze year-end is in force: nobody is here");
    expect(waiting).not.toHaveProperty("until");
    expect(body).toMatchObject({ state: "completed", waiting_for: null, succeeded: 5 });
    bench.fleet.remove("s99");
  });

  it("finishes the wave that a freeze meets, and waits before the next one", async () => {
    bench.fleet.hold();
    const started = bench.call("Rollout", halves);
    await untilInFlight(bench, 2);

    await windowCall("Add", { ...freeze, ends: inSeconds(3_600) });
    bench.fleet.release();
    const waiting = await untilWaiting();
    await remove("year-end");

    expect(waiting).toMatchObject({ current_wave: 1, succeeded: 2 });
    expect(Date.parse(waiting.until ?? "")).toBeGreaterThan(Date.now() + 3_000_000);
    expect((await started).body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("starts the wave when the freeze ends by itself, and not before", async () => {
    const ends = inSeconds(3);
    await windowCall("Add", { ...freeze, ends });

    const { body } = await bench.call("Rollout", halves);

    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(ends));
    expect(body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("starts at its scheduled time, which Plan shows", async () => {
    const request = { ...halves, not_before: inSeconds(3) };
    const { waves } = RolloutPlan.parse((await bench.call("Plan", request)).body);
    const started = bench.call("Rollout", request);
    const { until, reason } = await untilWaiting();

    const { body } = await started;

    expect(waves.map((wave) => wave.earliest_start)).toEqual([
      request.not_before,
      request.not_before,
    ]);
    expect({ until, reason }).toEqual({ until: request.not_before, reason: "waits for its start" });
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(request.not_before));
    expect(body).toMatchObject({ state: "completed", policy: { not_before: request.not_before } });
  });

  it("starts a wave all the same when an operator skips the wait, and waits again before the next", async () => {
    await windowCall("Add", freeze);
    const started = bench.call("Rollout", halves);
    const { rollout_id: id } = await untilWaiting();

    const skipped = await bench.call("Skip", { reason: "incident 4711", waiting_for: "window" });
    const second = await waitFor(
      async () => {
        const now = await status();
        return now.current_wave === 1 && now.waiting_for === "window" && now;
      },
      { withinMs: 10_000, what: "the wait before the second wave" },
    );
    await bench.call("Skip", { reason: "incident 4711" });

    expect(skipped.status).toBe(200);
    expect(second).toMatchObject({ succeeded: 2 });
    expect((await started).body).toMatchObject({ state: "completed", succeeded: 4 });
    const messages = await waitFor(
      async () => {
        const { rows } = await bench.database.query(
          "SELECT event, message->'lines'->>0 AS line FROM rollout_messages WHERE rollout_id = $1 ORDER BY sequence",
          [id],
        );
        return rows.at(-1)?.event === "completed" && rows;
      },
      { withinMs: 10_000, what: "history to have the end" },
    );
    expect(messages.map(({ event }) => event)).toEqual([
      "rollout started",
      "waiting",
      "skipped",
      "wave started",
      "wave completed",
      "waiting",
      "skipped",
      "wave started",
      "wave completed",
      "completed",
    ]);
    expect(messages[1]?.line).toBe(
      "It waits, since the freeze year-end is in force: nobody is here.",
    );
    expect(messages[2]?.line).toBe(
      "a caller on this machine (no operator) ended the wait: incident 4711.",
    );
  });

  it("has told the chat channel who removed the freeze, and why", async () => {
    await windowCall("Add", { ...freeze, id: "a" });
    await windowCall("Add", { ...freeze, id: "b" });
    const started = bench.call("Rollout", halves);
    const { rollout_id: id } = await untilWaiting();

    await remove("a");
    await waitFor(async () => (await status()).reason?.includes("freeze b"), {
      withinMs: 10_000,
      what: "the other freeze",
    });
    await remove("b");
    await started;

    const lines = () =>
      bench.chat.messages
        .filter(({ metadata }) => metadata.event_payload.id.startsWith(id ?? ""))
        .map(({ blocks }) => JSON.stringify(blocks));
    await waitFor(async () => lines().some((line) => line.includes("Rollout completed")), {
      withinMs: 10_000,
      what: "the messages",
    });
    const told = lines().filter((line) => /removed the freeze|is in force/.test(line));
    expect(told).toEqual([
      expect.stringContaining("the freeze a is in force"),
      expect.stringContaining(
        "a caller on this machine (no operator) removed the freeze a: it is over.",
      ),
      expect.stringContaining("the freeze b is in force"),
      expect.stringContaining(
        "a caller on this machine (no operator) removed the freeze b: it is over.",
      ),
    ]);
  });

  it("starts no wave by what was read before a freeze was added", async () => {
    const started = bench.call("Rollout", { ...halves, soak_seconds: [1, 0] });
    await waitFor(async () => (await status()).waiting_for === "soak", {
      withinMs: 10_000,
      what: "the soak",
    });
    bench.fleet.holdList();
    await waitFor(async () => bench.fleet.waitingForList() === 1, {
      withinMs: 10_000,
      what: "the look at the end of the soak",
    });

    await windowCall("Add", freeze);
    bench.fleet.releaseList();
    const waiting = await untilWaiting();
    await remove("year-end");

    expect(waiting).toMatchObject({ current_wave: 1, succeeded: 2, in_flight: 0 });
    expect((await started).body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("looks at a wave that soaked before the next one starts, however long it waited", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: [1, 0] });
    await waitFor(async () => (await status()).waiting_for === "soak", {
      withinMs: 10_000,
      what: "the soak",
    });
    await windowCall("Add", freeze);
    await untilWaiting();
    const [sick = ""] = [...bench.fleet.running()].flatMap(([one, image]) =>
      image === imageV2 ? [one] : [],
    );

    bench.fleet.sicken(sick);
    await remove("year-end");

    const stopped = await waitFor(
      async () => {
        const now = await status();
        return now.state === "paused" && now;
      },
      { withinMs: 20_000, what: "the pause" },
    );
    expect(stopped).toMatchObject({ cause: "sentinels", current_wave: 1, failed: 1 });
  });

  it("starts early when an operator skips its time, and then waits for a freeze", async () => {
    await windowCall("Add", freeze);
    const started = bench.call("Rollout", { ...halves, not_before: inSeconds(3_600) });
    await untilWaiting();
    await bench.call("Skip", { reason: "incident 4711", waiting_for: "window", wave: 0 });
    await waitFor(async () => (await status()).reason?.includes("freeze year-end"), {
      withinMs: 10_000,
      what: "the wait for the freeze",
    });

    await remove("year-end");

    expect((await started).body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("is cancelled at once while it waits, and restores nothing", async () => {
    await windowCall("Add", freeze);
    const started = bench.call("Rollout", halves);
    await untilWaiting();

    const cancelled = await bench.call("Cancel");

    expect(cancelled.body).toMatchObject({ state: "cancelled", outcome: "cancelled", total: 0 });
    expect((await started).body).toMatchObject({ state: "cancelled" });
    expect((await bench.call("RollbackAll")).body).toMatchObject({ reverted: 0 });
  });

  it("waits again when it is paused and resumed meanwhile", async () => {
    await windowCall("Add", freeze);
    const started = bench.call("Rollout", halves);
    await untilWaiting();
    await bench.call("Pause");
    await started;

    await bench.send("Resume");
    const waiting = await untilWaiting();
    await remove("year-end");

    expect(waiting.state).toBe("in_progress");
    await waitFor(async () => (await status()).state === "completed", {
      withinMs: 10_000,
      what: "the rollout to complete",
    });
    const { rollouts } = RolloutHistory.parse((await bench.call("History", { limit: 1 })).body);
    expect(rollouts).toHaveLength(1);
  });

  it("rolls back in a freeze, too", async () => {
    await bench.call("Rollout", { ...halves, wave_percentages: [100] });
    await startOver(bench);
    bench.fleet.behave((id, image) =>
      id === "s01" && image === imageV2
        ? { status: "failed", reason: "crash_loop" }
        : { status: "ready" },
    );
    await bench.call("Rollout", halves);
    await windowCall("Add", freeze);

    const { body } = await bench.call("RollbackAll");

    expect(body).toMatchObject({ state: "cancelled", not_reverted: [] });
  });
});

describe("windows", () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 1 });
  });

  afterAll(() => bench.stop());

  const call = (handler: keyof typeof windowHandlers, body: object = {}) =>
    bench.post(`${windowsName}/${handler}`, body);

  it("are listed with who added them, and whether a wave may start", async () => {
    const office = {
      id: "office",
      kind: "allowed",
      time_zone: "Europe/Berlin",
      days: ["mon", "tue"],
      from: "09:00",
      to: "16:00",
      starts: "2026-01-01T00:00:00.000Z",
      reason: "somebody is there",
    };
    await call("Add", office);
    await call("Add", freeze);

    const { windows, now } = windowHandlers.List.output.parse((await call("List")).body);

    expect(windows).toMatchObject([{ ...office, added_by: "local-caller" }, freeze]);
    expect(now).toEqual({
      is_open: false,
      reason: "the freeze year-end is in force: nobody is here",
    });
  });

  it("may be added twice when they are the same, and not when they differ", async () => {
    expect((await call("Add", freeze)).status).toBe(200);
    expect(await call("Add", { ...freeze, reason: "another" })).toMatchObject({
      status: 409,
      body: { metadata: { code: "window_exists" } },
    });
    const unknown = { id: "unknown", reason: "it is over" };
    expect(await call("Remove", unknown)).toMatchObject({ status: 404 });
  });

  it("are 50 at most, also when they are added at the same time", async () => {
    const ids = Array.from({ length: 50 }, (_, i) => `w${i}`);

    const answers = await Promise.all(ids.map((id) => call("Add", { ...freeze, id })));

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(48);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
  });
});
