/** What is asked of checks, alerts and places while no database is there. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createQueueStore } from "#alerts/queue-store.ts";
import { createAlertEvents } from "#alerts/services.ts";
import { createEventStore } from "#alerts/store.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createRunnerRegistry, createRunners } from "#monitor/locations/runners.ts";
import { createResultReader } from "#monitor/results/read.ts";
import { createCheckReads } from "#monitor/results/service.ts";
import { createFindChecks, createViewChecks } from "#monitor/results/view.ts";
import { createBackupStore } from "#routing/incident/backups.ts";
import { createAlertRoutesObject } from "#routing/incident/object.ts";
import { freePort } from "../../../support/free-port.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { startTestRestate, type TestRestate } from "../../../support/servers/servers.ts";
import { readActor } from "../../../support/signed-call.ts";

const log = createLog({ level: "silent", format: "json" });

let database: Database;
let restate: TestRestate;

beforeAll(async () => {
  database = openDatabase(`postgres://nobody@127.0.0.1:${await freePort()}/none`, log);
  restate = await startTestRestate({ services: servicesOf(database) });
});

afterAll(async () => {
  await restate.stop();
  await database.end();
});

function servicesOf(away: Database) {
  const failedAtPercent = 0;
  const readDefinitions = always({ apiChecks: [anApiCheck({ id: "probe" })] });
  const reader = createResultReader(away, { failedAtPercent });
  const common = { database: away, readDefinitions, reader, failedAtPercent, nowMs: Date.now };
  return [
    createCheckReads({
      ...common,
      viewChecks: createViewChecks({ ...common, whyOff: () => [] }),
      findChecks: createFindChecks({ ...common, whyOff: () => [] }),
    }),
    createAlertEvents({
      store: createEventStore(away),
      queues: createQueueStore({
        database: away,
        giveUpAfterMs: 1,
        recordAccepted: async () => {},
        log,
      }),
      wake: () => {},
      preview: async () => undefined,
      test: {
        readChannels: async () => [],
        send: async () => ({ kind: "unconfigured" }),
        testSource: async () => ({ kind: "unconfigured" }),
      },
      readActor,
    }),
    createAlertRoutesObject({
      ...{ incidentUrl: "", nextCheckAtMs: undefined, listLagMs: 0 },
      backups: createBackupStore(away),
      readActor,
    }),
    createRunnerRegistry({ runners: createRunners(away), location: "local", readActor }),
  ];
}

it.each([
  ["CheckReads/List", {}, "the checks cannot be read now"],
  ["CheckReads/History", { check: "probe" }, "the results cannot be read now"],
  ["CheckReads/Chart", { check: "probe", hours: 24 }, "the results cannot be read now"],
  ["CheckReads/Summary", { check: "probe" }, "the results cannot be read now"],
  ["CheckReads/Episodes", {}, "the alerts cannot be read now"],
  ["CheckReads/Replay", { check: "probe" }, "the results cannot be read now"],
  ["AlertEvents/List", {}, "alert events cannot be read now"],
  ["AlertEvents/Show", { event_id: "probe:1:opened" }, "alert events cannot be read now"],
  ["AlertRoutes/singleton/Backups", {}, "backups cannot be read now"],
  ["AlertRoutes/singleton/Backup", { backup: "one" }, "backups cannot be read now"],
  ["MonitorRunners/List", {}, "the runners cannot be read or changed now"],
  ["MonitorRunners/Add", { location: "fra", token_hash: "0".repeat(64) }, "the runners cannot be"],
  ["MonitorRunners/Remove", { location: "fra" }, "the runners cannot be read or changed now"],
])("%s is refused as unavailable", async (handler, body, words) => {
  const answer = await fetch(`${restate.ingressUrl}/vedette.v1.${handler}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    message: expect.stringContaining(words),
    metadata: { code: "unavailable" },
  });
});
