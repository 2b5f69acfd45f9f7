import { expect, it } from "vitest";
import { createSession } from "#console/server/session.ts";
import { createLogouts } from "#console/server/stored.ts";
import { createLog } from "#kernel/log.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

const log = createLog({ level: "silent", format: "json" });
const newSession = () => createSession("alice", { mark: "m", nowMs: Date.now() });

it("a sign-out that could not be written is written once it can be, for other processes", async () => {
  const logouts = createLogouts(database(), log);
  const session = newSession();
  await database().query("ALTER TABLE console_logouts RENAME TO console_logouts_away");
  await logouts.add(session);
  await database().query("ALTER TABLE console_logouts_away RENAME TO console_logouts");

  await logouts.has(newSession());

  expect(await createLogouts(database(), log).has(session)).toBe(true);
});
