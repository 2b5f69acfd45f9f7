/** The embedded store is a process only while there is something to store or to read. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Engine } from "#api/analytics/engine/engine.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { createLog } from "#kernel/log.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "#kernel/process.ts";
import { encodeBatch, verificationRow } from "../../../../support/api/analytics-rows.ts";
import { tempDir } from "../../../../support/temp-dir.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const signal = new AbortController().signal;
const count = { sql: "SELECT count() AS n FROM vedette.key_verifications_v1", filters: {} };

function start(settings: { dataDir?: string; restAfterMs?: number } = {}) {
  const dataDir = tempDir();
  const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });
  const retention = retentionFrom(30);
  const started: string[] = [];
  const engine = new Engine({
    ...{ url: "", dataDir, retention, log, ...settings },
    onEmbedded: (address) => started.push(address),
  });
  onTestFinished(() => engine.close());
  const pidFile = path.join(settings.dataDir ?? dataDir, "analytics.pid.json");
  const find = () =>
    existsSync(pidFile)
      ? (JSON.parse(readFileSync(pidFile, "utf8")) as ProcessIdentity)
      : undefined;
  const untilResting = () =>
    waitFor(() => engine.state() === "resting" && find() === undefined, {
      withinMs: 20_000,
      what: "the store to rest",
    });
  return { engine, started, find, untilResting };
}

const insertOne = ({ engine }: ReturnType<typeof start>, key_id: string) =>
  engine.insert(encodeBatch("key_verifications_v1", [verificationRow({ key_id })]), signal);

it("a store that nobody has used has no process", async () => {
  const { engine, find } = start();

  expect(engine.state()).toBe("resting");
  expect(find()).toBeUndefined();
});

it("two first rows at the same time start one process, which stores both", async () => {
  const store = start();

  await Promise.all([insertOne(store, "key_1"), insertOne(store, "key_2")]);

  expect(await store.engine.query(count)).toEqual([{ n: 2 }]);
  expect(store.started).toHaveLength(1);
});

it("a store that nothing used for a while ends its process, and answers with its rows again", async () => {
  const store = start({ restAfterMs: 300 });
  await insertOne(store, "key_1");
  const first = store.find() as ProcessIdentity;
  await store.untilResting();

  expect(isAlive(first)).toBe(false);
  expect(await store.engine.query(count)).toEqual([{ n: 1 }]);
});

it("a row that comes while the process of the store ends is stored by the next process", async () => {
  const store = start({ restAfterMs: 300 });
  await insertOne(store, "key_1");
  const isResting = () => store.engine.state() === "resting";
  await waitFor(isResting, { withinMs: 20_000, what: "the store to rest" });

  await insertOne(store, "key_2");

  expect(await store.engine.query(count)).toEqual([{ n: 2 }]);
});

it("a query that takes longer than that keeps the store from its rest", async () => {
  const { engine } = start({ restAfterMs: 300 });

  const answer = await engine.query({ sql: "SELECT sleep(2) AS zero", filters: {} });

  expect(answer).toEqual([{ zero: 0 }]);
});

it("a first start that is killed is repeated, and its query is answered", async () => {
  const store = start();
  const answer = store.engine.query(count);
  const first = await waitFor(store.find, { withinMs: 10_000, what: "a process" });
  process.kill(first.pid, "SIGKILL");

  expect(await answer).toEqual([{ n: 0 }]);
  expect(store.find()?.pid).not.toBe(first.pid);
});

it("a store that is closed during its first start leaves no process", async () => {
  const store = start();
  const answer = store.engine.query(count);
  const refused = expect(answer).rejects.toMatchObject({ failure: "away" });
  const first = await waitFor(store.find, { withinMs: 10_000, what: "a process" });

  await store.engine.close();

  await refused;
  expect(isAlive(first)).toBe(false);
  expect(store.find()).toBeUndefined();
});

it("a store ends the process that a killed program has left, before it is used", async () => {
  const dataDir = tempDir();
  const left = spawn(process.execPath, ["-e", "setInterval(() => {}, 1_000)"]);
  await once(left, "spawn");
  const identity = identifyProcess(left.pid as number) as ProcessIdentity;
  writeFileSync(path.join(dataDir, "analytics.pid.json"), JSON.stringify(identity));

  start({ dataDir });

  await waitFor(() => !isAlive(identity), { withinMs: 20_000, what: "the left process to end" });
});
