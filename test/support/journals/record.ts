/**
 * Records the journals of this version into test/journals/<version>: the program is used as its operators would, on a real
 * Restate and a real Postgres, for a minute. `npm run journals`
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { startRecorder, writeJournals } from "#journals/journals.ts";
import { readVersion } from "#kernel/process.ts";
import { freePort } from "../free-port.ts";
import { startVersionBench } from "../program/version-bench.ts";
import type { FleetOutcome } from "../rollout/fake-fleet.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { findPrivate } from "./find-private.ts";
import { recordedSettings } from "./program-endpoint.ts";

type Use = Awaited<ReturnType<typeof startUse>>;

const use = await startUse();
try {
  await completeRollouts(use);
  await restoreRollouts(use);
  await keepRows(use);
  await runTimedJobs(use);
  await watchServices(use);
  use.save();
} finally {
  await use.stop();
}

/** A rollout by gates, waits and a watch; one that is paused, resumed, confirmed and skipped. */
async function completeRollouts({ call, rollout, outcome, untilState, until }: Use) {
  await rollout("Plan", { image: imageOf("v2") });
  const gate = { checks: ["shop"], clean_runs: 1 };
  const calm = { soak_seconds: 1, watch_for: 2 };
  await rollout("Rollout", { image: imageOf("v2"), wave_percentages: [50, 100], gate, ...calm });
  outcome.next = { readyAfterMs: 1_500 };
  const gates = [{ kind: "pause", name: "look" }];
  await rollout("Rollout/send", { image: imageOf("v3"), wave_percentages: [50, 100], gates });
  await untilState("in_progress");
  await rollout("Pause");
  await untilState("paused");
  await rollout("Resume/send");
  await until("the gate to be confirmed", () => rollout("Approve", { gate: "look" }));
  await rollout("Skip", { reason: "seen" });
  await untilState("completed");
  const { body } = await rollout("Status");
  const rollout_id = String(body["rollout_id"]);
  await until("the proof", () => call("RolloutProofs/Read", { rollout_id }));
  await rollout("History");
}

/** A rollout that fails, one that is cancelled with deploys in flight; the previous images are restored. */
async function restoreRollouts({ call, rollout, outcome, untilState }: Use) {
  outcome.next = { failAfterMs: 300, reason: "crashed: exit 1", serves: "previous" };
  await rollout("Rollout", { image: imageOf("v4"), wave_percentages: [50, 100] });
  outcome.next = { readyAfterMs: 0 };
  await rollout("RollbackAll");
  const held = { readyAfterMs: Number.POSITIVE_INFINITY };
  outcome.next = held;
  await rollout("Rollout/send", { image: imageOf("v5"), wave_percentages: [100] });
  await untilState("in_progress", 2);
  await call("SentinelService/gw-0001/NotifyReady", { image: imageOf("v5") });
  await rollout("Cancel");
  outcome.next = { readyAfterMs: 0 };
  held.readyAfterMs = 0;
  await rollout("RollbackAll");
  outcome.next = { failAfterMs: 0, reason: "crashed: exit 1" };
  await rollout("Rollout", { image: imageOf("v6"), on_failure: "rollback" });
}

/** A sentinel is changed by hand: the check for drift reports it. */
async function runTimedJobs({ call, fleet, until }: Use) {
  fleet.change("gw-0002", imageOf("v9"));
  for (const job of ["fleet-drift", "key-refill", "count-keys"]) {
    await until(`${job} to run`, () => call(`CronService/${job}/Run`));
  }
  await call("CronService/fleet-drift/Status");
}

async function keepRows({ call, rollout }: Use) {
  const ends = "2030-01-02T00:00:00Z";
  await call("RolloutWindows/Add", { id: "winter", kind: "freeze", ends, reason: "holidays" });
  await call("RolloutWindows/List");
  await call("RolloutWindows/Remove", { id: "winter", reason: "over" });
  await call("RolloutPins/Add", { id: "hold", ids: ["gw-0001"], reason: "on loan" });
  await call("RolloutPins/List");
  await rollout("Rollout", { image: imageOf("v8") });
  await call("RolloutPins/Remove", { id: "hold", reason: "returned" });
  await call("RolloutPromotions/List");
  await call("FleetService/List");
  await call("FleetService/Drift");
  await call("FleetService/Log", { sentinel: "gw-0001" });
}

/** A check that alerts and recovers, a heartbeat, a drill, a channel. */
async function watchServices({ call, shop, until }: Use) {
  await call("ApiCheck/shop/Run");
  await call("ApiCheck/shop/Mute");
  await call("ApiCheck/shop/Unmute");
  const window = { from: "2030-01-01T00:00:00Z", to: "2030-01-02T00:00:00Z", reason: "a move" };
  await call("ApiCheck/shop/Maintenance", window);
  await call("ApiCheck/shop/EndMaintenance");
  shop.status = 500;
  await until("the alert", () => call("ApiCheck/shop/Acknowledge", { by: "ada" }));
  shop.status = 200;
  await call("Heartbeat/backup/Register", { token_hash: "ab".repeat(32) });
  await call("Heartbeat/backup/Mute");
  await call("MonitorRunners/Add", { location: "fra", token_hash: "cd".repeat(32) });
  await call("MonitorRunners/Remove", { location: "fra" });
  await call("Drill/fire-drill/Run");
  await until("the channel to have the drill", () => call("Drill/fire-drill/Run"));
  await call("AlertEvents/Test", { channel: "ops-chat" });
  const { body } = await call("AlertEvents/List");
  const [event] = body["events"] as { event_id: string }[];
  await call("AlertEvents/Show", { event_id: event?.event_id });
  await call("CheckReads/List");
  await call("StatusReads/Read");
  await call("Engine/Versions");
}

function imageOf(tag: string): string {
  return `registry.example.com/vedette/sentinel:${tag}`;
}

type Answer = { status: number; body: Record<string, unknown> };

async function startUse() {
  const dir = makeTempDir();
  const shop = { status: 200 };
  const target = createServer((_, answer) => answer.writeHead(shop.status).end("{}"));
  target.listen(0, "127.0.0.1");
  await once(target, "listening");
  const file = path.join(dir.path, "vedette.config.json");
  writeFileSync(file, JSON.stringify(definitionsOf((target.address() as AddressInfo).port)));
  const port = await freePort();
  const recorder = await startRecorder({ to: `http://127.0.0.1:${port}` });
  const environment: Record<string, string> = {
    ...recordedSettings,
    VEDETTE_WORKER__PORT: String(port),
    VEDETTE_WORKER__ADVERTISED_URL: recorder.url,
    VEDETTE_DEFINITIONS__FILE: file,
  };
  const bench = await startVersionBench(3, environment);
  environment["VEDETTE_SECRET_OPS_CHAT_URL"] = bench.chat.url;
  const outcome: { next: FleetOutcome } = { next: { readyAfterMs: 0 } };
  bench.fleet.behave(() => outcome.next);
  await bench.start();

  const call = async (address: string, body: object = {}): Promise<Answer> => {
    const answer = await bench.callAt(`vedette.v1.${address}`, body);
    if (answer.status >= 300) throw new Error(`${address}: ${JSON.stringify(answer.body)}`);
    process.stdout.write(`${address}\n`);
    return answer;
  };
  const rollout = (handler: string, body: object = {}) =>
    call(`SentinelRolloutService/singleton/${handler}`, body);
  /** Until it is not refused. */
  const until = (what: string, ask: () => Promise<Answer>) =>
    waitFor(ask, { withinMs: 20_000, what });
  const untilState = (state: string, inFlight?: number) =>
    until(`${state}`, async () => {
      const answer = await bench.call("Status");
      const { state: now, in_flight } = answer.body;
      if (now === state && (inFlight ?? in_flight) === in_flight) return answer;
      throw new Error(`it is ${now}, ${in_flight} in flight`);
    });
  return {
    ...{ call, rollout, outcome, shop, until, untilState },
    fleet: bench.fleet,
    save: () => {
      const journals = recorder.journals();
      const found = journals.flatMap(findPrivate);
      if (found.length > 0) throw new Error(`not to be kept: ${found.join(", ")}`);
      writeJournals(path.join("test/journals", readVersion()), journals);
    },
    stop: async () => {
      await bench.stop();
      recorder.stop();
      target.close();
      dir.remove();
    },
  };
}

function definitionsOf(shopPort: number) {
  const channels = ["ops-chat"];
  const url = `http://127.0.0.1:${shopPort}`;
  const assertions = [{ source: "status", equals: 200 }];
  return {
    channels: [{ id: "ops-chat", kind: "slack", url: "{{OPS_CHAT_URL}}" }],
    checks: [{ id: "shop", url, frequencySeconds: 10, assertions, channels }],
    heartbeats: [{ id: "backup", periodSeconds: 86_400, graceSeconds: 3_600, channels }],
    drills: [{ id: "fire-drill", cron: "0 9 * * 1", graceSeconds: 10, channels }],
  };
}
