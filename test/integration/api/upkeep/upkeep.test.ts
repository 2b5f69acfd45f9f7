import { Registry } from "prom-client";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { createWriteLastUsed } from "#api/access/key-uses.ts";
import { createCountKeys, createReadOverQuota } from "#api/upkeep/quota.ts";
import { insertKey, insertKeySpace } from "../../../support/api/api-rows.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

beforeAll(() => insertKeySpace(database()));

beforeEach(async () => {
  await database().query("DELETE FROM keys WHERE key_space_id = 'ks_test'");
});

const at = (text: string) => Date.parse(text);

it("counts the keys of a key space that are not deleted", async () => {
  await insertKey(database());
  await insertKey(database());
  await insertKey(database(), { deleted_at: new Date() });
  const registry = new Registry();

  const counted = await createCountKeys(database(), registry)();

  expect(counted).toEqual({ keySpaces: 2, keys: 2 });
  const { rows } = await database().query("SELECT * FROM key_spaces WHERE id = 'ks_test'");
  expect(rows[0]).toMatchObject({ key_count: "2", counted_at: expect.any(Date) });
  expect(await registry.metrics()).toContain("vedette_api_keys 2");
});

it("counts down to nothing when the last key is gone", async () => {
  const countKeys = createCountKeys(database(), new Registry());
  await insertKey(database());
  await countKeys();
  await database().query("DELETE FROM keys WHERE key_space_id = 'ks_test'");

  const counted = await countKeys();

  expect(counted.keys).toBe(0);
});

const lastUsed = async (id: string) => {
  const { rows } = await database().query("SELECT last_used_at FROM keys WHERE id = $1", [id]);
  return rows[0].last_used_at as Date | null;
};

it("writes the last use of a key to the minute, and the latest of several", async () => {
  const id = await insertKey(database());

  const written = await createWriteLastUsed(database())([
    { keyId: id, timeMs: at("2026-11-21T10:05:59.900Z") },
    { keyId: id, timeMs: at("2026-11-21T10:04:10Z") },
  ]);

  expect(written).toBe(1);
  expect(await lastUsed(id)).toEqual(new Date("2026-11-21T10:05:00Z"));
});

it("never puts a last use back, and passes over keys that are gone", async () => {
  const id = await insertKey(database());
  const write = createWriteLastUsed(database());
  await write([{ keyId: id, timeMs: at("2026-11-21T10:05:00Z") }]);

  const written = await write([
    { keyId: id, timeMs: at("2026-11-21T09:00:00Z") },
    { keyId: "key_gone", timeMs: at("2026-11-21T11:00:00Z") },
  ]);

  expect(written).toBe(0);
  expect(await lastUsed(id)).toEqual(new Date("2026-11-21T10:05:00Z"));
});

it("finds the workspaces that have reached their quota, and asks for no others", async () => {
  await database().query(
    `INSERT INTO workspaces (id, name, monthly_quota)
     VALUES ('ws_over', 'Over', 100), ('ws_at', 'At', 50), ('ws_under', 'Under', 100),
       ('ws_silent', 'Silent', 10), ('ws_free', 'Free', NULL)`,
  );
  let asked: readonly string[] = [];
  const readUsage = async (ids: readonly string[]) => {
    asked = ids;
    return new Map([
      ["ws_over", 250],
      ["ws_at", 50],
      ["ws_under", 99],
      ["ws_free", 1_000_000],
    ]);
  };

  const over = await createReadOverQuota(database(), readUsage)(0);

  expect(over).toEqual([
    { workspaceId: "ws_at", name: "At", used: 50, quota: 50 },
    { workspaceId: "ws_over", name: "Over", used: 250, quota: 100 },
  ]);
  expect(asked).not.toContain("ws_free");
});
