/** Root keys across starts of `api` processes with other settings, and operator commands for them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type App, startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { runVedette } from "../../support/program/command.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

const { database, url } = prepareDatabase({ isEmpty: true });

const environmentOf = (dataDir: string) => ({
  VEDETTE_DATA_DIR: dataDir,
  DATABASE_URL: url(),
  VEDETTE_API__PORT: "0",
  VEDETTE_METRICS__PORT: "0",
  VEDETTE_ANALYTICS__ENABLED: "false",
});

/** One `api` process's worth of program, with a data directory of its own. */
async function startApi(over: Record<string, string> = {}): Promise<App> {
  const dir = makeTempDir();
  const environment = { ...environmentOf(dir.path), ...over };
  const app = await startApp(readConfig({ environment }), { roles: ["api"], log });
  onTestFinished(async () => {
    await app.stop();
    dir.remove();
  });
  return app;
}

/** The status of the answer to a call with this root key. */
async function statusAt(app: App, key: string): Promise<number> {
  const answer = await fetch(`${app.endpoints.api}/v2/keys.verifyKey`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ key: "unknown" }),
  });
  await answer.body?.cancel();
  return answer.status;
}

const untilRefused = (app: App, key: string) =>
  waitFor(async () => (await statusAt(app, key)) === 401, { withinMs: 1_000, what: "a refusal" });

const vedette = (...args: string[]) => runVedette(args, { DATABASE_URL: url() });

const vedetteJson = async (...args: string[]) => {
  const { stdout, stderr } = await vedette(...args, "--json");
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
};

const listed = async (): Promise<Record<string, unknown>[]> =>
  (await vedetteJson("root-keys", "list")).root_keys;

describe("the root key of the settings", () => {
  it("is refused at every process once a process starts with another one", async () => {
    const older = await startApi({ VEDETTE_ROOT_KEY: "first-root-key-of-ours" });
    expect(await statusAt(older, "first-root-key-of-ours")).toBe(200);

    const newer = await startApi({ VEDETTE_ROOT_KEY: "second-root-key-of-ours" });

    expect(await statusAt(newer, "first-root-key-of-ours")).toBe(401);
    await untilRefused(older, "first-root-key-of-ours");
    expect(await statusAt(older, "second-root-key-of-ours")).toBe(200);
  });

  it("remains refused when a process starts with the earlier one again", async () => {
    await startApi({ VEDETTE_ROOT_KEY: "third-root-key-of-ours" });
    const current = await startApi({ VEDETTE_ROOT_KEY: "fourth-root-key-of-ours" });

    const late = await startApi({ VEDETTE_ROOT_KEY: "third-root-key-of-ours" });

    expect(await statusAt(late, "third-root-key-of-ours")).toBe(401);
    expect(await statusAt(current, "fourth-root-key-of-ours")).toBe(200);
  });

  it("leaves the earlier one its grace period, and is not replaced by it", async () => {
    await startApi({ VEDETTE_ROOT_KEY: "fifth-root-key-of-ours" });
    const grace = { VEDETTE_API__ROOT_KEY_GRACE_SECONDS: "3600" };
    const newer = await startApi({ VEDETTE_ROOT_KEY: "sixth-root-key-of-ours", ...grace });

    const late = await startApi({ VEDETTE_ROOT_KEY: "fifth-root-key-of-ours" });

    expect(await statusAt(late, "fifth-root-key-of-ours")).toBe(200);
    expect(await statusAt(newer, "sixth-root-key-of-ours")).toBe(200);
    const all = await listed();
    expect(all.map(({ origin }) => origin)).toEqual(["setting", "replaced"]);
    expect(all[1]?.["expires_at"]).not.toBeNull();
  });
});

describe("the root key in the data directory of an embedded database", () => {
  const dir = makeTempDir();
  const keyIn = () => JSON.parse(readFileSync(path.join(dir.path, "credentials.json"), "utf8"));

  /** Starts on that directory, reads its state and stops. */
  const look = async (over: Record<string, string>, keys: () => string[]) => {
    const embedded = { DATABASE_URL: "", VEDETTE_DATABASE__PORT: "0" };
    const environment = { ...environmentOf(dir.path), ...embedded, ...over };
    const app = await startApp(readConfig({ environment }), { roles: ["api"], log });
    try {
      return await Promise.all(keys().map((key) => statusAt(app, key)));
    } finally {
      await app.stop();
    }
  };

  it("is replaced by one of the settings, and generated again when that is removed", async () => {
    onTestFinished(dir.remove);
    const atFirst = await look({}, () => [keyIn().root_key]);
    const generated = keyIn().root_key;

    const setting = { VEDETTE_ROOT_KEY: "a-root-key-of-the-settings" };
    const whileSet = await look(setting, () => [generated, setting.VEDETTE_ROOT_KEY]);
    const afterwards = await look({}, () => [
      generated,
      setting.VEDETTE_ROOT_KEY,
      keyIn().root_key,
    ]);

    expect([atFirst, whileSet, afterwards]).toEqual([[200], [401, 200], [401, 401, 200]]);
  });
});

it("processes that start without a root key share a single generated one", async () => {
  await database().query("DELETE FROM keys WHERE for_workspace_id IS NOT NULL");

  await Promise.all([startApi(), startApi(), startApi()]);

  const { rows } = await database().query(
    "SELECT origin FROM keys WHERE for_workspace_id IS NOT NULL AND deleted_at IS NULL",
  );
  expect(rows).toEqual([{ origin: "generated" }]);
});

describe("vedette root-keys", () => {
  const make = async (...args: string[]) =>
    vedetteJson("keys", "create-root", "--workspace", "ws_default", ...args);

  it("list shows when a key was last used", async () => {
    const app = await startApi();
    const { key, key_id } = await make("--name", "seen");
    expect(await statusAt(app, key)).toBe(200);

    await waitFor(
      async () => {
        const { rows } = await database().query("SELECT last_used_at FROM keys WHERE id = $1", [
          key_id,
        ]);
        return rows[0].last_used_at !== null;
      },
      { withinMs: 20_000, what: "the use to be written" },
    );

    const entry = (await listed()).find((one) => one["key_id"] === key_id);
    expect(entry).toMatchObject({ name: "seen", origin: "operator", state: "active" });
    expect(Date.parse(String(entry?.["last_used_at"]))).toBeGreaterThan(Date.now() - 600_000);
  });

  it("revoke refuses a key at every process within a second", async () => {
    const [first, second] = await Promise.all([startApi(), startApi()]);
    const { key, key_id } = await make();
    expect([await statusAt(first, key), await statusAt(second, key)]).toEqual([200, 200]);

    const { code } = await vedette("root-keys", "revoke", key_id);

    expect(code).toBe(0);
    await untilRefused(first, key);
    await untilRefused(second, key);
    expect((await listed()).map((one) => one["key_id"])).not.toContain(key_id);
    const all = (await vedetteJson("root-keys", "list", "--all")).root_keys;
    expect(all).toContainEqual(expect.objectContaining({ key_id, state: "revoked" }));
  });

  it("rotate creates a key with the same permissions, and ends the old one", async () => {
    const app = await startApi();
    const { key, key_id } = await make("--permissions", "api.*.verify_key");

    const rotated = await vedetteJson("root-keys", "rotate", key_id);

    expect(await statusAt(app, rotated.key)).toBe(200);
    await untilRefused(app, key);
    const entry = (await listed()).find((one) => one["key_id"] === rotated.key_id);
    expect(entry).toMatchObject({ permissions: ["api.*.verify_key"], workspace_id: "ws_default" });
  });

  it("rotate keeps the old one valid for a grace period", async () => {
    const app = await startApi();
    const { key, key_id } = await make();

    const rotated = await vedetteJson("root-keys", "rotate", key_id, "--grace", "24h");

    expect([await statusAt(app, key), await statusAt(app, rotated.key)]).toEqual([200, 200]);
    const lastsMs = Date.parse(rotated.old_ends_at) - Date.now();
    expect(lastsMs / 3_600_000).toBeCloseTo(24, 0);
  });

  it.each([
    [["revoke", "key_none"], "there is no root key key_none"],
    [["rotate", "key_none"], "there is no root key key_none"],
    [["rotate", "key_none", "--grace", "long"], "such as 30m, 24h or 7d"],
  ])("%j is refused in one line", async (args, complaint) => {
    const { code, stderr } = await vedette("root-keys", ...args);

    expect(code).toBe(1);
    expect(stderr).toContain(complaint);
  });
});

describe("a database that a newer version has migrated", () => {
  it("is refused by a start and by commands, and left as it is", async () => {
    await database().query("INSERT INTO schema_migrations (name, run_on) VALUES ('9999_x', now())");
    onTestFinished(async () => {
      await database().query("DELETE FROM schema_migrations WHERE name = '9999_x'");
    });

    const { code, stderr } = await vedette("root-keys", "list");

    await expect(startApi()).rejects.toThrow("migrated by a newer Vedette (9999_x)");
    expect(code).toBe(1);
    expect(stderr).toContain("migrated by a newer Vedette (9999_x)");
  });
});
