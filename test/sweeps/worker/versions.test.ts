import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AlertReceiver, startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import {
  type Edit,
  startVersionBench,
  type VersionBench,
} from "../../support/program/version-bench.ts";
import { imageV1 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The program with a step that has another name. */
const renamed = (file: string, step: string): Edit => ({
  file,
  from: `ctx.run("${step}"`,
  to: `ctx.run("new-${step}"`,
});

const edits = {
  event: renamed("alerts/object.ts", "post-event"),
  watch: renamed("monitor/heartbeat/commit.ts", "release"),
  eventRecords: renamed("alerts/services.ts", "save-events"),
  checkRecords: renamed("monitor/records.ts", "write-records"),
  tick: renamed("monitor/check/steps.ts", "look-around"),
  probe: renamed("monitor/probe/service.ts", "probe"),
  job: { file: "cron/jobs/keys.ts", from: 'step("count-keys"', to: 'step("sum-keys"' },
} satisfies Record<string, Edit>;

/** The heartbeats that page somebody: a test takes the next one. */
const channelled = ["certificate-workflow", "certificate-workflow-staging", "key-refill-staging"];

describe("what is under way while the program is replaced by one with another step", {
  retry: 0,
}, () => {
  let bench: VersionBench;
  let receiver: AlertReceiver;
  let target: Awaited<ReturnType<typeof startTarget>>;
  let client: pg.Client;
  let heartbeat: string;
  let next = 0;

  beforeAll(async () => {
    receiver = await startAlertReceiver();
    target = await startTarget();
    bench = await startVersionBench(2, {
      VEDETTE_INCIDENT__URL: receiver.url,
      VEDETTE_INCIDENT__API_KEY: "key",
      VEDETTE_INCIDENT__DRIFT_CHECK_MINUTES: "0",
      ...source("PRODUCTION", receiver),
      ...source("STAGING", receiver),
      VEDETTE_MONITOR__BASE_URL: target.url,
      VEDETTE_ALERTS__ATTEMPT_TIMEOUT_SECONDS: "60",
      VEDETTE_MONITOR__KEY: "a-key",
      VEDETTE_MONITOR__ROOT_KEY: "a-root-key",
    });
    client = new pg.Client(bench.databaseUrl);
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await bench.stop();
    await target.stop();
    await receiver.stop();
  });

  beforeEach(async () => {
    await bench.start();
    heartbeat = channelled[next++ % channelled.length] as string;
    receiver.events.length = 0;
    const token_hash = randomBytes(32).toString("hex");
    await bench.callAt(`vedette.v1.Heartbeat/${heartbeat}/Register`, { token_hash });
  });

  afterEach(() => bench.kill());

  const ping = (kind: "success" | "fail") =>
    bench.callAt(`vedette.v1.Heartbeat/${heartbeat}/ping/send`, {
      kind,
      atMs: Date.now(),
      ...(kind === "fail" && { exitCode: null }),
    });

  /** Of each event the first time: one that was on its way in the moment of the kill comes again. */
  const untilTold = async (...kinds: string[]) => {
    const told = () => {
      const ids = receiver.events.map(({ eventId }) => eventId);
      return [...new Set(ids)].filter((id) => id.startsWith(`${heartbeat}:`));
    };
    await waitFor(() => told().length >= kinds.length, {
      withinMs: 20_000,
      what: `${kinds.join(", ")} to be told`,
    });
    expect(told().map(kindOf)).toEqual(kinds);
  };

  const untilAtWork = (...handlers: string[]) =>
    waitFor(
      async () => {
        const counts = await Promise.all(handlers.map((handler) => bench.atWork(handler)));
        return counts.every((count) => count > 0);
      },
      { withinMs: 20_000, what: `${handlers.join(", ")} to be at work` },
    );

  /** Whoever needs these tables waits, until the program has been replaced. */
  const holding = async (tables: string, work: () => Promise<unknown>) => {
    await client.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
    await work();
    await bench.kill();
    await client.query("ROLLBACK");
  };

  const untilRow = (sql: string, values: unknown[] = []) =>
    waitFor(async () => (await client.query(sql, values)).rows[0], {
      withinMs: 30_000,
      what: sql,
    });

  it("tells an alert once, and its recovery after it", { timeout: 240_000 }, async () => {
    receiver.behave = () => "hang";
    await ping("fail");
    await untilAtWork("AlertDelivery/enqueue");
    await bench.kill();

    receiver.behave = () => "accept";
    await bench.start(edits.event);

    await untilTold("opened");
    await ping("success");
    await untilTold("opened", "resolved");
  });

  it("lets a heartbeat go on that was about to end its watch", { timeout: 240_000 }, async () => {
    await ping("fail");
    await untilTold("opened");
    await holding("heartbeats", async () => {
      await ping("success");
      await untilTold("opened", "resolved");
      await untilAtWork("Heartbeat/ping");
    });

    await bench.start(edits.watch);

    await ping("fail");
    await untilTold("opened", "resolved", "opened");
  });

  it("loses no record of checks, alert events and notices", {
    timeout: 240_000,
  }, async () => {
    await holding("check_episodes, alert_events", async () => {
      await ping("fail");
      await bench.send("Rollout", { image: imageV1, wave_percentages: [100] });
      await untilAtWork("CheckRecords/write", "AlertRecord/save");
    });

    await bench.start(edits.eventRecords, edits.checkRecords);

    await untilRow("SELECT 1 FROM check_episodes WHERE check_id = $1", [heartbeat]);
    await untilRow("SELECT 1 FROM alert_events WHERE check_id = $1 AND status = 'accepted'", [
      heartbeat,
    ]);
    await untilRow(`SELECT 1 FROM alert_events WHERE kind = 'notice'
      HAVING count(*) >= 2 AND bool_and(status = 'accepted')`);
  });

  it.for([
    ["tick", "ApiCheck/tick"],
    ["probe", "CheckProbe/run"],
  ] as const)("goes on with an API check at its %s", { timeout: 300_000 }, async ([kind, call]) => {
    target.hold();
    await holding("check_runners", () => untilAtWork(call));
    target.release();
    const { rows } = await client.query("SELECT now()");

    await bench.start(edits[kind]);

    await untilRow(
      "SELECT 1 FROM check_results WHERE started_at > $1 HAVING count(DISTINCT check_id) = 3",
      [rows[0].now],
    );
  });

  it("makes a timed job's run once more", { timeout: 240_000 }, async () => {
    const path = "vedette.v1.CronService/count-keys";
    await holding("key_spaces", async () => {
      await bench.callAt(`${path}/Run/send`);
      await untilAtWork("CronRunner/run");
    });

    await bench.start(edits.job);

    const run = await waitFor(
      async () => (await bench.callAt(`${path}/Status`)).body["last_run"] as object | undefined,
      { withinMs: 30_000, what: "the run to end" },
    );
    expect(run).toMatchObject({ outcome: "succeeded" });
  });
});

const kindOf = (eventId: string) => eventId.split(":").at(-1);

function source(environment: string, { sourceId, token }: AlertReceiver): Record<string, string> {
  return {
    [`VEDETTE_ALERTS__${environment}__SOURCE_ID`]: sourceId,
    [`VEDETTE_ALERTS__${environment}__TOKEN`]: token,
  };
}

/** An API that lets whoever asks wait, for as long as it is held. */
async function startTarget() {
  let isHeld = false;
  const server = createServer((_request, answer) => {
    if (!isHeld) answer.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
