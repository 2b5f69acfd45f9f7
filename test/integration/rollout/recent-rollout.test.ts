/** Which rollout an alert names that opens now. */
import { expect, it, onTestFinished } from "vitest";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { readRecentRollout } from "#rollout/history/reader.ts";
import { startTestDatabase } from "../../support/servers/servers.ts";

async function openTestDatabase(): Promise<Database> {
  const log = createLog({ level: "silent", format: "json" });
  const server = await startTestDatabase();
  onTestFinished(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  return database;
}

/** One that began three hours ago; null: it has not ended. */
const insert = (database: Database, id: string, endedAt: Date | null) =>
  database.query(
    `INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, reverted, started_at,
       updated_at, ended_at, current_wave)
     VALUES ($1, 'a', 'a', '{100}', $2, 0, now() - interval '3 hours', now(), $3, 2)`,
    [id, endedAt === null ? "in_progress" : "completed", endedAt],
  );

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

it("the one in progress is named, although another ended just now", async () => {
  const database = await openTestDatabase();
  await insert(database, "r-over", minutesAgo(1));
  await insert(database, "r-active", null);

  expect(await readRecentRollout(database)).toEqual({
    rolloutId: "r-active",
    fleet: "singleton",
    image: "a",
    wave: 2,
  });
});

it("else the last that ended within the hour", async () => {
  const database = await openTestDatabase();
  const endedAt = minutesAgo(12);
  await insert(database, "r-older", minutesAgo(50));
  await insert(database, "r-last", endedAt);

  const found = await readRecentRollout(database);

  expect(found).toEqual({
    rolloutId: "r-last",
    fleet: "singleton",
    image: "a",
    wave: 2,
    endedAtMs: endedAt.getTime(),
  });
});

it("none after an hour", async () => {
  const database = await openTestDatabase();
  await insert(database, "r-old", minutesAgo(61));

  expect(await readRecentRollout(database)).toBeNull();
});
