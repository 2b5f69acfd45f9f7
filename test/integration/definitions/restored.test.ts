/** Definitions of a Postgres that was restored to an earlier state. */
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;
let database: Database;

beforeAll(async () => {
  program = await startProgram();
  database = openDatabase(runningDatabaseUrl(program.dataDir), pino({ level: "silent" }));
});

afterAll(async () => {
  await database?.end();
  await program?.dispose();
});

const checkOf = (id: string) => CheckRow.parse({ id, url: `${program.endpoints().api}/${id}` });
const job = HeartbeatRow.parse({ id: "job", periodSeconds: 3_600, graceSeconds: 60 });

const apply = async (set: object) => {
  const body = { definitions: { ...emptySet, ...set }, prune: true };
  const answer = await program.post("vedette.v1.Definitions/singleton/Apply", body);
  return answer.body["revision"] as number;
};
const askOf = async (object: string) => (await program.post(`vedette.v1.${object}/Unmute`)).status;
const listIds = async () => {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return (body["checks"] as { id: string }[]).map(({ id }) => id);
};

it("ends the checks of a revision that was lost", async () => {
  const kept = await apply({ checks: [checkOf("kept")] });
  const lost = await apply({ checks: [checkOf("kept"), checkOf("lost")], heartbeats: [job] });
  const known = async () => [await askOf("ApiCheck/lost"), await askOf("Heartbeat/job")];
  expect(await known()).toEqual([200, 200]);

  await database.query("DELETE FROM definitions WHERE revision = $1", [lost]);

  expect(await apply({ checks: [checkOf("kept")] })).toBe(kept);
  await waitFor(async () => (await known()).every((status) => status === 404), {
    withinMs: 10_000,
    what: "the objects to know that they are gone",
  });
});

it("knows another revision of the same number from the one that was lost", async () => {
  const lost = await apply({ checks: [checkOf("lost")] });
  await listIds();

  // At once, as for a process that cannot reach it meanwhile.
  await database.query(
    `UPDATE definitions SET apply_id = 'another',
       rows = jsonb_set(rows, '{checks,0,id}', '"other"') WHERE revision = $1`,
    [lost],
  );

  await waitFor(async () => (await listIds()).join() === "other", {
    withinMs: 5_000,
    what: "the other revision to be read",
  });
});
