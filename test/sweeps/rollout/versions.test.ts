import { readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Edit } from "../../support/program/edited-tree.ts";
import { startVersionBench, type VersionBench } from "../../support/program/version-bench.ts";
import { imageV1 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 6;

/** The program with one step more, or one that has another name, in each kind of invocation. */
const edits = {
  caller: { file: "rollout/handlers/public.ts", from: '"resolve-image"', to: '"pin-image"' },
  runner: {
    file: "rollout/services/run.ts",
    from: '  const stop = ctx.signal<null>("stop");',
    to: '  await ctx.run("new-step", () => 1);\n  const stop = ctx.signal<null>("stop");',
  },
  rollback: {
    file: "rollout/services/run.ts",
    from: "  await drain(ctx, run.drain, settings.deployTimeoutMs);\n  const batches",
    to: '  await ctx.run("new-step", () => 1);\n  await drain(ctx, run.drain, settings.deployTimeoutMs);\n  const batches',
  },
  batch: {
    file: "rollout/services/batch/batch.ts",
    from: "  const work = new BatchWork(ctx, run, parts);",
    to: '  await ctx.run("new-step", () => 1);\n  const work = new BatchWork(ctx, run, parts);',
  },
  deploy: { file: "fleet/deploys/service.ts", from: 'ctx.run("observe"', to: 'ctx.run("look"' },
  capture: { file: "rollout/services/capture.ts", from: '"list-fleet"', to: '"read-fleet"' },
  watch: {
    file: "rollout/services/watch.ts",
    from: "  const failure = await endOf(ctx, [run.runner]);",
    to: '  await ctx.run("new-step", () => 1);\n  const failure = await endOf(ctx, [run.runner]);',
  },
  history: { file: "rollout/history/object.ts", from: '"save-rollout"', to: '"write-rollout"' },
  notice: { file: "alerts/services.ts", from: '"enqueue-notice"', to: '"add-notice"' },
} satisfies Record<string, Edit>;

let images = 0;

describe("a rollout under way while the program is replaced by one with another step", {
  retry: 0,
}, () => {
  let bench: VersionBench;
  let request: { image: string; wave_percentages: number[] };

  beforeAll(async () => {
    bench = await startVersionBench(size);
  });

  afterAll(() => bench.stop());

  beforeEach(async () => {
    request = { image: imageV1.replace("v1", `n${++images}`), wave_percentages: [100] };
    await bench.start();
  });

  afterEach(async () => {
    bench.nameWorkers("127.0.0.1");
    bench.release();
    await bench.kill();
  });

  const untilState = (state: string) =>
    waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body["state"] === state && body;
      },
      { withinMs: 20_000, what: `the rollout to be ${state}` },
    );

  const untilInFlight = (count: number) =>
    waitFor(async () => (await bench.call("Status")).body["in_flight"] === count, {
      withinMs: 20_000,
      what: `${count} deploys in flight`,
    });

  /** A deploy counts as in flight before its order has left, and a Cancel then leaves it out. */
  const untilOrdered = (count: number) =>
    waitFor(
      () => bench.fleet.puts.filter(({ image }) => image === request.image).length === count,
      {
        withinMs: 20_000,
        what: `${count} orders`,
      },
    );

  /** A deploy that its batch has begun has an invocation of its own later on. */
  const untilFollowed = (count: number) =>
    waitFor(async () => (await bench.query(followed)).length === count, {
      withinMs: 20_000,
      what: `${count} deploys with an invocation of their own`,
    });

  /** Whether it is known who waits for the rollout. */
  const isCallerNoted = async () => {
    const [row] = await bench.query(
      "SELECT value_utf8 FROM state WHERE service_name = 'vedette.v1.SentinelRolloutService' AND key = 'rolloutState'",
    );
    return "caller" in JSON.parse(String(row?.["value_utf8"]));
  };

  /** Nothing of a rollout has an invocation left, but for timers that are yet to come. */
  const untilNothingIsLeft = () =>
    waitFor(
      async () =>
        (await bench.query(unfinished)).length === 0 && (await bench.query(heldKeys)).length === 0,
      { withinMs: 30_000, what: "every invocation to end" },
    );

  const startHeld = async () => {
    bench.hold();
    await bench.send("Rollout", request);
    await untilInFlight(2);
    await untilOrdered(2);
    await untilFollowed(2);
  };

  const replace = async (edit: Edit) => {
    await bench.kill();
    await bench.start(edit);
  };

  it.for(["runner", "batch", "deploy"] as const)(
    "pauses it, and Resume goes on and deploys no sentinel twice, when the step is one of the %s",
    { timeout: 240_000 },
    async (kind) => {
      await startHeld();

      await replace(edits[kind]);

      const paused = await untilState("paused");
      expect(paused).toMatchObject({ cause: "version", failed: 0 });
      expect(paused["reason"]).toMatch(/changed from revision \w{16} to \w{16} meanwhile/);
      bench.release();
      await untilInFlight(0);
      const { body } = await bench.call("Resume");
      expect(body).toMatchObject({ state: "completed", succeeded: size, failed: 0 });
      expect(body).not.toHaveProperty("cause");
      expect(new Set(bench.fleet.running().values())).toEqual(new Set([request.image]));
      const puts = bench.fleet.puts.filter(({ image }) => image === request.image);
      expect(new Set(puts.map(({ deployId }) => deployId)).size).toBe(size);
      await untilNothingIsLeft();
    },
  );

  it("pauses it when the later version is at another address, and the earlier one leads there", {
    timeout: 240_000,
  }, async () => {
    await startHeld();
    bench.nameWorkers("localhost");

    await replace(edits.deploy);

    expect(await untilState("paused")).toMatchObject({ cause: "version", failed: 0 });
    bench.release();
    await untilInFlight(0);
    expect((await bench.call("Resume")).body).toMatchObject({ state: "completed" });
    await untilNothingIsLeft();
    const neededHosts = async () => {
      const rows = (await bench.query(neededAddresses())) as { endpoint: string }[];
      return rows.map(({ endpoint }) => new URL(endpoint).hostname);
    };
    await waitFor(async () => !(await neededHosts()).includes("127.0.0.1"), {
      withinMs: 20_000,
      what: "the earlier address to be needed no more",
    });
    expect(await neededHosts()).toEqual(["localhost"]);
  });

  it("lets it be cancelled and rolled back then", { timeout: 240_000 }, async () => {
    const before = bench.fleet.running();
    await startHeld();
    await replace(edits.deploy);
    await untilState("paused");

    const cancelled = await bench.call("Cancel");
    bench.release();
    const { body } = await bench.call("RollbackAll");

    expect(cancelled.body).toMatchObject({ state: "cancelled" });
    expect(body).toMatchObject({ state: "cancelled", in_flight: 0, not_reverted: [] });
    expect(bench.fleet.running()).toEqual(before);
    await untilNothingIsLeft();
  });

  it("answers whoever waits when it is cancelled after a restart", {
    timeout: 240_000,
  }, async () => {
    bench.hold();
    const rollout = bench.call("Rollout", request);
    await untilInFlight(2);
    await untilOrdered(2);
    await bench.kill();
    await bench.start();

    await bench.call("Cancel");

    expect(await isCallerNoted()).toBe(true);
    expect((await rollout).body).toMatchObject({ state: "cancelled", in_flight: 2 });
    bench.release();
    await untilInFlight(0);
    await untilNothingIsLeft();
  });

  it("frees the deploys in flight of one that was cancelled", { timeout: 240_000 }, async () => {
    const before = bench.fleet.running();
    await startHeld();
    await bench.call("Cancel");

    await replace(edits.deploy);

    await untilInFlight(0);
    bench.release();
    const { body } = await bench.call("RollbackAll");
    expect(body).toMatchObject({ state: "cancelled", not_reverted: [] });
    expect(bench.fleet.running()).toEqual(before);
    await untilNothingIsLeft();
  });

  it("ends a rollback so that it can be asked for again", { timeout: 240_000 }, async () => {
    const before = bench.fleet.running();
    await startHeld();
    await bench.call("Cancel");
    bench.release();
    await untilInFlight(0);
    bench.hold();
    await bench.send("RollbackAll");
    await untilInFlight(2);

    await replace(edits.rollback);

    const ended = await untilState("cancelled");
    bench.release();
    const { body } = await bench.call("RollbackAll");
    expect(ended).toMatchObject({ cause: "version" });
    expect(body).toMatchObject({ state: "cancelled", succeeded: 0, not_reverted: [] });
    expect(bench.fleet.running()).toEqual(before);
    await untilNothingIsLeft();
  });

  it("pauses it while the fleet is listed, and Resume lists it anew", {
    timeout: 240_000,
  }, async () => {
    bench.fleet.holdList(true);
    await bench.send("Rollout", request);
    await waitFor(() => bench.fleet.isAskedForList(), { withinMs: 20_000, what: "the list" });
    await bench.kill();
    bench.fleet.holdList(false);

    await bench.start(edits.capture);

    expect(await untilState("paused")).toMatchObject({ cause: "version", total: 0 });
    expect((await bench.call("Resume")).body).toMatchObject({ state: "completed", total: size });
    await untilNothingIsLeft();
  });

  it.for(["caller", "watch"] as const)(
    "goes on when only the %s cannot",
    { timeout: 240_000 },
    async (kind) => {
      await startHeld();

      await replace(edits[kind]);

      bench.release();
      expect(await untilState("completed")).toMatchObject({ succeeded: size, failed: 0 });
      await untilNothingIsLeft();
    },
  );

  it("goes on and loses nothing of history when that cannot", { timeout: 240_000 }, async () => {
    const client = new pg.Client(bench.databaseUrl);
    await client.connect();
    await client.query("BEGIN; LOCK TABLE rollouts IN ACCESS EXCLUSIVE MODE");
    await bench.send("Rollout", request);
    await untilState("completed");
    await bench.kill();
    await client.query("ROLLBACK");

    await bench.start(edits.history);

    await untilNothingIsLeft();
    const { body } = await bench.call("Status");
    const rows = await client.query(
      "SELECT state, succeeded, (SELECT count(*)::int FROM rollout_messages m WHERE m.rollout_id = r.id) AS messages FROM rollouts r WHERE id = $1",
      [body["rollout_id"]],
    );
    await client.end();
    expect(rows.rows).toEqual([{ state: "completed", succeeded: size, messages: 4 }]);
  });

  it("goes on and loses no message when the chat channel cannot", {
    timeout: 240_000,
  }, async () => {
    bench.chat.answer(Array.from({ length: 3 }, () => ({ status: 503 })));
    await bench.send("Rollout", request);
    const { rollout_id: rolloutId } = await untilState("completed");
    await waitFor(() => bench.chat.isAnsweredByScript(), { withinMs: 20_000, what: "attempts" });

    await replace(edits.notice);

    const titles = await waitFor(
      () => {
        const ours = bench.chat.messages.filter(({ metadata }) =>
          metadata.event_payload.id.startsWith(String(rolloutId)),
        );
        return new Set(ours.map(({ metadata }) => metadata.event_payload.id)).size === 4 && ours;
      },
      { withinMs: 30_000, what: "all messages" },
    );
    expect(titles.length).toBeGreaterThanOrEqual(4);
    await untilNothingIsLeft();
  });
});

/** As an operator asks before a Service is deleted. */
function neededAddresses(): string {
  const page = readFileSync("docs/kubernetes.md", "utf8");
  return /^\{"query": "(.+)"\}$/m.exec(page)?.[1] ?? "";
}

const ours = `target_service_name LIKE 'vedette.v1.Rollout%' OR target_service_name IN
  ('vedette.v1.SentinelRolloutService', 'vedette.v1.SentinelService', 'vedette.v1.Notices')`;

const followed = "SELECT DISTINCT id FROM sys_journal WHERE name = 'observe'";

const unfinished = `SELECT id FROM sys_invocation
  WHERE (${ours}) AND status NOT IN ('completed', 'scheduled')`;

const heldKeys = `SELECT service_name FROM sys_keyed_service_status
  WHERE service_name LIKE 'vedette.v1.Sentinel%' OR service_name = 'vedette.v1.Notices'`;
