import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Edit } from "../../support/program/edited-tree.ts";
import { startVersionBench, type VersionBench } from "../../support/program/version-bench.ts";
import { imageV1 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The program with a step that has another name. */
const edits = {
  notice: {
    file: "alerts/services.ts",
    from: 'ctx.run("enqueue-notice"',
    to: 'ctx.run("add-notice"',
  },
  jobHeartbeat: {
    file: "monitor/services.ts",
    from: 'ctx.run("ping-heartbeats"',
    to: 'ctx.run("ping-them"',
  },
  change: {
    file: "monitor/check-objects.ts",
    from: 'databaseRead("change"',
    to: 'databaseRead("alter"',
  },
  job: { file: "cron/jobs/keys.ts", from: 'step("count-keys"', to: 'step("sum-keys"' },
} satisfies Record<string, Edit>;

/** Of the job `key-refill`. */
const heartbeat = "workflows-refill";

describe("what is under way while the program is replaced by one with another step", {
  retry: 0,
}, () => {
  let bench: VersionBench;
  let client: pg.Client;

  beforeAll(async () => {
    bench = await startVersionBench(2);
    client = new pg.Client(bench.databaseUrl);
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await bench.stop();
  });

  beforeEach(() => bench.start());
  afterEach(() => bench.kill());

  const untilAtStep = (handler: string, step: string) =>
    waitFor(async () => (await bench.atStep(handler, step)) > 0, {
      withinMs: 20_000,
      what: `${handler} to be at ${step}`,
    });

  /** Whoever needs this table waits, until the program has been replaced. */
  const holding = async (table: string, work: () => Promise<unknown>) => {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    await work();
    await bench.kill();
    await client.query("ROLLBACK");
  };

  const untilRow = (sql: string, values: unknown[] = []) =>
    waitFor(async () => (await client.query(sql, values)).rows[0], {
      withinMs: 30_000,
      what: sql,
    });

  it("loses no notice", { timeout: 240_000 }, async () => {
    await holding("alert_outbox", async () => {
      await bench.send("Rollout", { image: imageV1, wave_percentages: [100] });
      await untilAtStep("Notices/post", "enqueue-notice");
    });

    await bench.start(edits.notice);

    await untilRow(`SELECT 1 FROM alert_events WHERE kind = 'notice'
      HAVING count(*) >= 2 AND bool_and(status = 'accepted')`);
  });

  it("pings the heartbeat of a job that ran well", { timeout: 240_000 }, async () => {
    await holding("heartbeat_pings", async () => {
      await bench.callAt("vedette.v1.CronService/key-refill/Run/send");
      await untilAtStep("JobHeartbeats/succeeded", "ping-heartbeats");
    });

    await bench.start(edits.jobHeartbeat);

    await untilRow(
      "SELECT 1 FROM check_results WHERE check_id = $1 AND location = 'ping' AND grade = 'ok'",
      [heartbeat],
    );
  });

  it("refuses an operator's change of a check, and takes the next one", {
    timeout: 240_000,
  }, async () => {
    const mute = () => bench.callAt(`vedette.v1.Heartbeat/${heartbeat}/Mute`);
    let muted: ReturnType<typeof mute> | undefined;
    await holding("check_states", async () => {
      muted = mute();
      await untilAtStep("Heartbeat/Mute", "change");
    });

    await bench.start(edits.change);

    expect((await muted)?.status).toBeGreaterThanOrEqual(400);
    expect((await mute()).status).toBe(200);
  });

  it("makes a timed job's run once more", { timeout: 240_000 }, async () => {
    const path = "vedette.v1.CronService/count-keys";
    await holding("key_spaces", async () => {
      await bench.callAt(`${path}/Run/send`);
      await untilAtStep("CronRunner/run", "count-keys");
    });

    await bench.start(edits.job);

    const run = await waitFor(
      async () => (await bench.callAt(`${path}/Status`)).body["last_run"] as object | undefined,
      { withinMs: 30_000, what: "the run to end" },
    );
    expect(run).toMatchObject({ outcome: "succeeded" });
  });
});
