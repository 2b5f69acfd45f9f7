/** Kills between a good run of a job of our own and the ping of its heartbeat. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { CronStatus } from "#cron/contract.ts";
import type { CheckList } from "#monitor/results/contract.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

const heartbeat = "workflows-refill";
const job = "vedette.v1.CronService/key-refill";

/** Where a run stands when the program is killed: what holds it there. */
const points = {
  "the run has called its heartbeats and has not ended": () => url.hold(),
  "the ping of its heartbeat is not stored yet": () =>
    holdStatement("LOCK TABLE heartbeat_pings IN SHARE MODE", "INSERT INTO heartbeat_pings"),
  "its heartbeat has stored the ping and has not decided it": () =>
    holdStatement(
      `SELECT FROM check_states WHERE id = '${heartbeat}' FOR UPDATE`,
      "FROM check_states WHERE id = ANY ($1) ORDER BY id FOR UPDATE",
    ),
};

let server: TestDatabase;
let url: Awaited<ReturnType<typeof startUrl>>;
let program: Program;

beforeAll(async () => {
  server = await startTestDatabase();
  url = await startUrl();
  program = await startProgram({
    DATABASE_URL: server.url,
    VEDETTE_CRON__KEY_REFILL__HEARTBEAT_URL: url.address,
  });
});

afterAll(async () => {
  await program?.dispose();
  url?.stop();
  await server?.stop();
});

it.each(Object.entries(points))("when %s, the restarted program pings it", async (_, hold) => {
  await untilExpected();
  const before = await readLastRun();
  const held = await hold();
  const asked = program.post(`${job}/Run`).catch(() => undefined);
  await held.untilReached();

  program.kill9("main");
  await asked;
  await held.release();
  await program.start();

  const run = await waitFor(async () => {
    const last = await readLastRun();
    return last?.run_id !== before?.run_id && last;
  }, wait("the run to end"));
  await waitFor(async () => (await view())?.last_at === run.ended_at, wait("its ping"));
  expect(run.outcome).toBe("succeeded");
  expect(await view()).toMatchObject({ status: "ok", alert: null });
});

const wait = (what: string) => ({ withinMs: 10_000, what });

async function view() {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return (body as unknown as CheckList).checks.find((check) => check.id === heartbeat);
}

const untilExpected = () =>
  waitFor(async () => (await view())?.due_at != null, wait("the heartbeat to be expected"));

async function readLastRun() {
  return CronStatus.parse((await program.post(`${job}/Status`)).body).last_run;
}

/** A lock in Postgres, at which the program waits with a statement that has this text. */
async function holdStatement(lock: string, text: string) {
  const holder = await connect();
  // Of its own: a transaction sees the activity of its first look for ever.
  const watcher = await connect();
  await holder.query("BEGIN");
  await holder.query(lock);
  const find = `SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND position($1 IN regexp_replace(query, '\\s+', ' ', 'g')) > 0`;
  return {
    untilReached: () =>
      waitFor(async () => (await watcher.query(find, [text])).rows.length > 0, wait(text)),
    release: async () => {
      await holder.query("ROLLBACK");
    },
  };
}

async function connect() {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** The URL that the run requests after it has called the heartbeats. */
async function startUrl() {
  let held: ServerResponse | undefined;
  let isHeld = false;
  const answers = createServer((_, answer) => {
    if (isHeld) held = answer;
    else answer.end();
  });
  answers.listen(0, "127.0.0.1");
  await once(answers, "listening");
  return {
    address: `http://127.0.0.1:${(answers.address() as AddressInfo).port}`,
    hold: async () => {
      isHeld = true;
      return {
        untilReached: () => waitFor(() => held !== undefined, wait("the request")),
        release: async () => {
          isHeld = false;
          held?.end();
        },
      };
    },
    stop: () => {
      answers.closeAllConnections();
      answers.close();
    },
  };
}
