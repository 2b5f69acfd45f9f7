/** Reads each kind of change from a real database. */
import { beforeEach, expect, it, onTestFinished } from "vitest";
import type { BlamedAlert } from "#blame/contract.ts";
import { createExplainPause, createReadExplained } from "#blame/explain-pause.ts";
import { createReadBlame } from "#blame/read-changes.ts";
import { recordStart } from "#blame/record-start.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query(
    "TRUNCATE rollouts, sentinels, definitions, alert_route_backups, audit_log, process_starts CASCADE",
  );
});

/** Ranks what changed for a check that was good a minute ago and failed now. */
async function blame(place: Partial<BlamedAlert["place"]>) {
  const nowMs = Date.now() + 1_000;
  const ask = await createReadBlame(database(), ["hash-of-own"])(nowMs);
  return ask({ goodAtMs: nowMs - 60_000, failedAtMs: nowMs, place: { names: [], ...place } });
}

type Wave = { started_at: string; ended_at: string | null };

const rolloutOf = (id: string, agoMs: number, waves: Wave[] = []) =>
  database().query(
    `INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, started_by, started_at,
       updated_at, current_wave, waves)
     VALUES ($1, 'gw:2', 'gw:2', '{100}', 'in_progress', 'ada', $2, now(), $3, $4)`,
    [id, new Date(Date.now() - agoMs), Math.max(1, waves.length), JSON.stringify(waves)],
  );

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

const sentinel = (id: string, region: string, orderedAgoMs: number | null = null) =>
  database().query(
    `INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, ordered_at)
     VALUES ($1, $2, 'gw:1', 'gw:1', 'ready', 'healthy', $3)`,
    [id, region, orderedAgoMs === null ? null : new Date(Date.now() - orderedAgoMs)],
  );

type Member = { id: string; region: string; wave: number; outcome: string | null; at?: string };

const member = ({ id, region, wave, outcome, at = ago(0) }: Member) =>
  database().query(
    `INSERT INTO rollout_sentinels (rollout_id, sentinel_id, wave, previous_image, region, updated_at, outcome)
     VALUES ('ro_1', $1, $2, 'gw:1', $3, $4, $5)`,
    [id, wave, region, at, outcome],
  );

it("a wave is named with the regions that it touched, and who started its rollout", async () => {
  const startedAt = ago(31_000);
  const waves = [
    { started_at: ago(50_000), ended_at: ago(40_000) },
    { started_at: startedAt, ended_at: ago(30_000) },
  ];
  await rolloutOf("ro_1", 60_000, waves);
  for (const [i, region] of ["eu-west", "eu-west", "us-east", "us-east"].entries()) {
    await sentinel(`gw-${i}`, region);
  }
  for (const id of ["gw-0", "gw-1"]) {
    await member({ id, region: "eu-west", wave: 2, outcome: "succeeded" });
  }

  const [first, ...others] = await blame({ names: ["gateway-eu-west"] });

  expect(others).toEqual([]);
  expect(first).toMatchObject({
    id: "ro_1:wave-2",
    kind: "rollout",
    who: "ada",
    atMs: Date.parse(startedAt),
  });
  expect(first?.text).toMatch(
    /^wave 2 of the rollout of gw:2 replaced sentinels \(2 of 2 in eu-west\) 3\d(\.\d)? s before the first failure; it reached 100 % of eu-west, which the alert is about, and 50 % of all sentinels$/,
  );
});

it("a deploy without an outcome is known by its order, and has not ended", async () => {
  await rolloutOf("ro_1", 60_000, [{ started_at: ago(20_000), ended_at: null }]);
  await sentinel("gw-0", "eu", 20_000);
  await member({ id: "gw-0", region: "eu", wave: 1, outcome: null });

  const [first] = await blame({ names: ["gateway-eu"] });

  expect(first?.id).toBe("ro_1:wave-1");
  expect(first?.text).toContain("had not ended");
});

it("sentinels that were put back are a rollback", async () => {
  const wave = { started_at: ago(7_200_000), ended_at: ago(7_190_000) };
  await rolloutOf("ro_1", 7_200_000, [wave]);
  await sentinel("gw-0", "eu");
  await member({ id: "gw-0", region: "eu", wave: 1, outcome: "reverted", at: ago(40_000) });

  const [first] = await blame({ names: ["gateway-eu"] });

  expect(first?.id).toBe("ro_1:rollback");
  expect(first?.text).toMatch(/^the rollback of the rollout of gw:2 put back sentinels/);
});

it("an apply of definitions is named only in alerts of checks whose rows it changed", async () => {
  const rows = { checks: [{ id: "a" }, { id: "b" }, { id: "c" }], heartbeats: [] };
  const changes = [
    { section: "checks", key: "a", kind: "change" },
    { section: "checks", key: "b", kind: "leave" },
  ];
  await database().query(
    "INSERT INTO definitions (revision, apply_id, source, applied_by, rows, changes) VALUES (7, 'x', 'command', 'ben', $1, $2)",
    [JSON.stringify(rows), JSON.stringify(changes)],
  );

  const [ofA] = await blame({ check: ["a"] });
  const ofB = await blame({ check: ["b"] });

  expect(ofA).toMatchObject({ id: "definitions:7", who: "ben" });
  expect(ofA?.text).toMatch(
    /^revision 7 of the definitions changed 1 of checks .*; it changed this check$/,
  );
  expect(ofB).toEqual([]);
});

it("an apply of alert routes is named in the alert of a drill alone", async () => {
  await database().query(
    "INSERT INTO alert_route_backups VALUES ('b-1', now(), 'http://incident.invalid', '[]')",
  );

  const [ofDrill] = await blame({ delivery: ["routes"] });

  expect(ofDrill?.kind).toBe("routes");
  expect(await blame({ delivery: [] })).toEqual([]);
});

it("a change of the checks' own key is named without a key or caller; one of other keys is not", async () => {
  await database().query(
    `INSERT INTO keys (id, workspace_id, key_space_id, hash, start)
     VALUES ('key_own', 'ws_operator', 'ks_root', 'hash-of-own', 'v')`,
  );
  onTestFinished(async () => void (await database().query("DELETE FROM keys")));
  await database().query("UPDATE key_spaces SET key_count = 1000");
  const insert = (id: string, target: string) =>
    database().query(
      `INSERT INTO audit_log (id, workspace_id, event, description, actor_type, actor_id, targets)
       VALUES ($1, 'ws_default', 'key.update', 'secret words', 'key', $2, $3)`,
      [id, `actor_${id}`, JSON.stringify([{ type: "key", id: target, name: "customer" }])],
    );
  await insert("1", "key_other");
  const none = await blame({ key: ["own"] });
  await insert("2", "key_own");

  const [first, ...others] = await blame({ key: ["own"] });

  expect([none, others]).toEqual([[], []]);
  expect(first).toMatchObject({ kind: "keys", who: null });
  expect(JSON.stringify(first)).not.toMatch(/key_own|customer|secret words|actor_/);
});

it("the message of a paused rollout has what changed besides it, and is silent of itself", async () => {
  const pause = { id: "ro_1", fleet: "singleton", event: "paused" };
  const readBlame = createReadBlame(database(), []);
  const explain = createExplainPause(database(), readBlame);
  await rolloutOf("ro_1", 60_000, [{ started_at: ago(20_000), ended_at: null }]);
  await sentinel("gw-0", "eu");
  await member({ id: "gw-0", region: "eu", wave: 1, outcome: "failed" });
  const alone = await explain(pause);
  await start({ api: { port: 1 } });
  await start({ api: { port: 2 } });
  await database().query("UPDATE process_starts SET started_at = started_at - interval '25 s'");

  const [line, ...others] = await explain(pause);
  await database().query("UPDATE rollouts SET cause = 'operator'");
  const byOperator = await explain(pause);

  expect([alone, others, byOperator]).toEqual([[], [], []]);
  expect(line).toMatch(/^Changed besides: \d+ %: api restarted, with other settings \(api\.port\)/);
});

it("the notice of a pause has the lines that history has by then, and its own if that is late", async () => {
  const read = createReadExplained(database());
  const rollout = { id: "ro_1", fleet: "singleton", event: "paused" };
  const notice = { id: "ro_1#7", lines: ["It paused."], rollout };
  await rolloutOf("ro_1", 60_000);

  const late = await read(notice);
  const reading = read(notice);
  const lines = ["It paused.", "Changed besides: a restart."];
  await database().query(
    "INSERT INTO rollout_messages (rollout_id, sequence, event, at, message) VALUES ($1, 7, 'paused', now(), $2)",
    ["ro_1", { id: notice.id, lines }],
  );

  expect(late).toEqual(["It paused."]);
  expect(await reading).toEqual(lines);
  expect(await read({ ...notice, rollout: { ...rollout, event: "resumed" } })).toBe(notice.lines);
});

it("a pause is not explained if what changed cannot be read", async () => {
  await rolloutOf("ro_1", 60_000);
  const explain = createExplainPause(database(), () => Promise.reject(new Error("away")));

  expect(await explain({ id: "ro_1", fleet: "singleton", event: "paused" })).toEqual([]);
});

it("changes that cannot be read in a second are given up, and leave their connection to others", async () => {
  const blocker = await database().connect();
  await blocker.query("BEGIN; LOCK TABLE definitions IN ACCESS EXCLUSIVE MODE");
  onTestFinished(async () => {
    await blocker.query("ROLLBACK");
    blocker.release();
  });

  await expect(createReadBlame(database(), [])(Date.now())).rejects.toThrow("statement timeout");

  expect(database().totalCount - database().idleCount).toBe(1);
});

const start = (settings: object, { version = "1", pepper = "p" } = {}) =>
  recordStart(database(), {
    part: "api",
    version,
    settings,
    isSecret: (path) => path.at(-1) === "token",
    pepper,
  });

it("a start with other settings names those that differ, and no value", async () => {
  await start({ api: { port: 1, token: "hidden-1" }, log: { level: "info" } });
  await start({ api: { port: 2, token: "hidden-2" }, log: { level: "info" } });

  const [first] = await blame({ part: ["worker", "api"] });

  expect(first).toMatchObject({ kind: "settings", who: "api" });
  expect(first?.text).toContain("with other settings (api.port, api.token)");
  const { rows } = await database().query("SELECT settings FROM process_starts");
  expect(JSON.stringify(rows)).not.toContain("hidden");
});

it("a start with the same settings and another version is a restart", async () => {
  const before = await start({ a: 1 });
  await before.stop();
  await start({ a: 1 }, { version: "2" });

  const [first] = await blame({ part: ["api"] });

  expect(first).toMatchObject({ kind: "restart" });
  expect(first?.text).toContain("api restarted with version 2");
});

it("a process that stopped and did not start again is named", async () => {
  const { stop } = await start({ a: 1 });
  await stop();

  const found = await blame({ part: ["api"] });

  expect(found.map(({ text }) => text.split(" 1")[0])).toEqual(["api stopped"]);
});
