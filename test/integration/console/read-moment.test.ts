/** What a page shows, read from a database that hangs. */
import { expect, it, onTestFinished } from "vitest";
import { createReadMoment } from "#app/control.ts";
import { inTransaction, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";

it("ends a read at its limit, and reads without one otherwise", async () => {
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, createLog({ level: "silent", format: "json" }));
  onTestFinished(() => database.end());
  const readMoment = createReadMoment(database);

  const refused = await inTransaction(database, async (other) => {
    await other.query("LOCK TABLE sentinels");
    return readMoment({ rolloutId: null, limitMs: 50 }).catch((error: unknown) => error);
  });
  const read = await readMoment({ rolloutId: null });

  expect(refused).toMatchObject({ code: "57014" });
  expect(read).toEqual({ recorded: undefined, members: [], fleet: [] });
});
