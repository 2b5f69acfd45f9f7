/** `vedette alerts backtest` against a whole program that has had more alerts than a page of answers has. */
import { expect, it, onTestFinished } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { directoryOf } from "../../../support/definitions/definition-files.ts";
import { routes } from "../../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../../support/program/command.ts";
import { startProgram } from "../../../support/program/program.ts";

const insert = `
  INSERT INTO check_episodes (check_id, episode, opened_at, resolved_at, reason, locations)
  SELECT $1, n, now() - n * interval '1 min', now() - n * interval '1 min' + interval '30 s', 'x', '{}'
  FROM generate_series(10, 9 + $2::integer) n`;

it("backtest counts all alerts of the time, names those that change, and ends with 2 if there are any", async () => {
  const program = await startProgram({});
  onTestFinished(() => program.dispose());
  const log = createLog({ level: "silent", format: "json" });
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  onTestFinished(() => database.end());
  await database.query(insert, ["liveness", 1_100]);
  await database.query(insert, ["verify-key", 1_100]);
  await database.query(insert, ["long-gone", 3]);
  await database.query(
    "INSERT INTO check_episodes VALUES ('liveness', 9999, now() - interval '40 d', now() - interval '39 d', 'x', '{}')",
  );
  const [first] = routes;
  const quiet = { ...first, escalation: null };
  const directory = directoryOf({
    "same.yaml": "extends: [standard]\n",
    "quiet.json": JSON.stringify({ extends: ["standard"], routes: [quiet] }),
  });
  const backtest = (...args: string[]) =>
    runVedette(["alerts", "backtest", ...args], { VEDETTE_DATA_DIR: program.dataDir }, directory);

  const same = await backtest("--file", "same.yaml");
  const changed = await backtest("--file", "quiet.json", "--limit", "2", "--json");
  const none = await backtest();

  expect(same).toMatchObject({ code: 0, stderr: "" });
  expect(same.stdout).toMatch(/^2200 alerts since .*; 3 of checks that are gone are left out\n/);
  expect(same.stdout).toContain("Nothing changes.");
  expect(changed.code).toBe(2);
  const answer = JSON.parse(changed.stdout);
  expect(answer).toMatchObject({ alerts: 2_200, unknown: 3, changed: 2_200 });
  expect(answer.changes).toMatchObject([{ after: ["#alerts"] }, { after: ["#alerts"] }]);
  expect(none).toMatchObject({ code: 1, stdout: "" });
  expect(none.stderr).toContain("name the file");
}, 180_000);
