/** A job that fails and recovers in turn while the program is killed again and again. */
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { eventIdsOf } from "../../../support/alerts/alert-builders.ts";
import { type AlertReceiver, startAlertReceiver } from "../../../support/alerts/alert-receiver.ts";
import { type Part, type Program, startProgram } from "../../../support/program/program.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = { id: "nightly", periodSeconds: 86_400, graceSeconds: 60, channels: ["on-call"] };

async function startWithHeartbeat() {
  const receiver = await startAlertReceiver();
  onTestFinished(receiver.stop);
  const file = path.join(tempDir(), "vedette.config.json");
  const channels = [{ id: "on-call", kind: "incident", environment: "production" }];
  writeFileSync(file, JSON.stringify({ channels, heartbeats: [heartbeat] }));
  const program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: file,
    VEDETTE_INCIDENT__URL: receiver.url,
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
    VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
  });
  onTestFinished(program.dispose);
  const token = randomBytes(32).toString("base64url");
  const token_hash = createHash("sha256").update(token).digest("hex");
  await program.post("vedette.v1.Heartbeat/nightly/Register", { token_hash });
  const ping = (suffix = "") => fetch(`${program.endpoints().control}/${token}${suffix}`);
  await ping();
  return { receiver, program, ping };
}

type Bench = Awaited<ReturnType<typeof startWithHeartbeat>>;

/**
 * Fails and succeeds in turn until stopped, each once the one before was answered 200; one that is not answered is sent
 * again, which changes nothing if it counted already.
 */
function keepFlapping({ ping }: Bench) {
  const state = { transitions: 0, isOver: false };
  const send = async (suffix: string) => {
    for (;;) {
      const answer = await ping(suffix).catch(() => undefined);
      if (answer?.status === 200) return;
      await delay(50);
    }
  };
  const flap = async () => {
    while (!state.isOver || state.transitions % 2 === 1) {
      await send(state.transitions % 2 === 0 ? "/fail" : "");
      state.transitions += 1;
    }
  };
  const ended = flap();
  return {
    count: () => state.transitions,
    /** Ends with a success. Returns the number of answered changes. */
    stop: async () => {
      state.isOver = true;
      await ended;
      return state.transitions;
    },
  };
}

/** In the order of their first arrival. */
function receivedIds({ events }: AlertReceiver): string[] {
  const ids = events.filter(({ deduplicationKey }) => deduplicationKey === "nightly");
  return [...new Set(ids.map(({ eventId }) => eventId))];
}

async function killAndRestart(program: Program, parts: readonly Part[]): Promise<void> {
  for (const part of parts) program.kill9(part);
  if (parts.includes("main")) await program.start();
}

/** Ten kills. Postgres first: until its own end the process may answer what is not written. */
const kills: readonly (readonly Part[])[] = Array.from({ length: 10 }, (_, n) =>
  n % 3 === 2 ? ["postgres", "main", "restate"] : ["main"],
);

it("each change has one event, in order, however often everything is killed", async () => {
  const bench = await startWithHeartbeat();
  const { receiver, program } = bench;
  const flapping = keepFlapping(bench);

  for (const [n, parts] of kills.entries()) {
    const before = flapping.count();
    await waitFor(() => flapping.count() >= before + 4, { withinMs: 60_000, what: "more changes" });
    // At another moment of a change each time.
    await delay(n * 7);
    await killAndRestart(program, parts);
  }
  const changes = await flapping.stop();

  const wanted = eventIdsOf(changes / 2, "nightly");
  await waitFor(() => receivedIds(receiver).length >= wanted.length, {
    withinMs: 60_000,
    what: `${wanted.length} events`,
  }).catch(() => {});
  expect(receivedIds(receiver)).toEqual(wanted);
  expect(receiver.faults).toEqual([]);
}, 300_000);

it("a change whose event was not written when the program was killed is made again with it", async () => {
  const bench = await startWithHeartbeat();
  const { receiver, program, ping } = bench;
  const [holder, watcher] = [await connect(program), await connect(program)];
  await holder.query("BEGIN; LOCK TABLE alert_outbox IN SHARE MODE");
  const failing = ping("/fail").catch(() => undefined);
  await waitFor(async () => (await watcher.query(isEventHeld)).rows.length > 0, {
    withinMs: 20_000,
    what: "the event to be written",
  });

  program.kill9("main");
  await failing;
  // A statement that waits would be carried out although its program is gone.
  await watcher.query(isEventHeld.replace("FROM", "pg_terminate_backend(pid) FROM"));
  await holder.query("ROLLBACK");
  await Promise.all([holder.end(), watcher.end()]);
  await program.start();
  await waitFor(() => receivedIds(receiver).length >= 1, { withinMs: 20_000, what: "the alert" });

  expect(receivedIds(receiver)).toEqual(["nightly:1:opened"]);
});

const isEventHeld = `
  SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND position('INSERT INTO alert_outbox' IN query) > 0`;

async function connect({ dataDir }: Program): Promise<pg.Client> {
  const client = new pg.Client(runningDatabaseUrl(dataDir));
  await client.connect();
  return client;
}
