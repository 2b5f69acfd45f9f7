/** `vedette alerts`, its half about events, against a whole program and a receiver that refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AlertOrder } from "#alerts/contract.ts";
import { routeOrder } from "#alerts/order.ts";
import { enqueue } from "#alerts/outbox.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { buildEpisode, buildOrder } from "../../../support/alerts/alert-builders.ts";
import { type AlertReceiver, startAlertReceiver } from "../../../support/alerts/alert-receiver.ts";
import { runVedette } from "../../../support/program/command.ts";
import { type Program, startProgram } from "../../../support/program/program.ts";
import { waitFor } from "../../../support/wait-for.ts";

let receiver: AlertReceiver;
let program: Program;
let database: Database;

beforeAll(async () => {
  receiver = await startAlertReceiver();
  program = await startProgram({
    VEDETTE_INCIDENT__URL: receiver.url,
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
    VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
  });
  const log = createLog({ level: "silent", format: "json" });
  database = openDatabase(runningDatabaseUrl(program.dataDir), log);
});

afterAll(async () => {
  await database?.end();
  await program?.dispose();
  await receiver?.stop();
});

let checkId = "";
let checks = 0;

/** Each test has a check of its own. */
beforeEach(() => {
  checks += 1;
  checkId = `check-${checks}`;
  receiver.script.length = 0;
});

const vedette = (...args: string[]) =>
  runVedette(["alerts", ...args], { VEDETTE_DATA_DIR: program.dataDir });

/** As the checks do it. */
const enqueueAll = (orders: AlertOrder[]) =>
  enqueue(
    database,
    orders.flatMap((given) => {
      const order = routeOrder(given);
      return order === null ? [] : { queue: checkId, order };
    }),
  );

const listOf = async (...args: string[]) => {
  const { stdout } = await vedette(...args, "--check", checkId, "--json");
  // A check without events that is none of the definitions is refused.
  const { events = [] } = JSON.parse(stdout) as {
    events?: { event_id: string; status: string }[];
  };
  return events;
};

const untilStatus = (kind: string, status: string) =>
  waitFor(
    async () =>
      (await listOf("events")).some(
        (event) => event.event_id === `${checkId}:1:${kind}` && event.status === status,
      ),
    { withinMs: 30_000, what: `${kind} to be ${status}` },
  );

const bury = async () => {
  receiver.script.push({ status: 422, body: { type: "validation_error" } });
  await enqueueAll(buildEpisode({ checkId }));
  await untilStatus("resolved", "dead");
};

describe("vedette alerts", () => {
  it("events refuses a check that there is not, and names the one that was meant", async () => {
    const { code, stderr } = await vedette("events", "--check", "livenes");

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "vedette: there is no check livenes: did you mean liveness?\n",
    });
  });

  it("events lists what was accepted, with its delay", async () => {
    await enqueueAll([buildOrder({ checkId, openedAtMs: Date.now() })]);
    await untilStatus("opened", "accepted");

    const { stdout, code } = await vedette("events", "--check", checkId);

    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(`${checkId}:1:opened +production +accepted .* 1 +[\\d.]+ m?s`),
    );
  });

  it("dead-letters lists what was refused, and why", async () => {
    await bury();

    const { stdout } = await vedette("dead-letters", "--check", checkId);

    expect(stdout).toMatch(new RegExp(`${checkId}:1:opened .* status 422 validation_error`));
    expect(stdout).toMatch(new RegExp(`${checkId}:1:resolved .* its failure was not delivered`));
  });

  it("show has the body that is posted, and where", async () => {
    await bury();

    const { stdout } = await vedette("show", `${checkId}:1:opened`);

    expect(stdout).toContain(`POST ${receiver.url}/v2/alert_events/checkly/${receiver.sourceId}`);
    expect(stdout).toContain(`"deduplication_key": "${checkId}"`);
    expect(stdout).not.toContain(receiver.token);
  });

  it("redeliver --all sends failure and recovery again, in order", async () => {
    await bury();

    const { stdout, code } = await vedette("redeliver", "--all", "--check", checkId);

    expect(code).toBe(0);
    expect(stdout).toBe(`${checkId}:1:opened is being sent\n${checkId}:1:resolved is being sent\n`);
    await untilStatus("resolved", "accepted");
    const received = receiver.events.filter((event) => event.deduplicationKey === checkId);
    expect(received.map(({ status }) => status)).toEqual(["firing", "resolved"]);
  });

  it("redeliver --token-refused does not send events that were refused for another reason", async () => {
    await bury();

    const { stdout, code } = await vedette("redeliver", "--token-refused", "--check", checkId);

    expect([stdout, code]).toEqual(["No dead letters.\n", 0]);
  });

  it("redeliver of an event that was accepted is refused in one line, exit code 1", async () => {
    await enqueueAll([buildOrder({ checkId })]);
    await untilStatus("opened", "accepted");

    const { stdout, code } = await vedette("redeliver", `${checkId}:1:opened`);

    expect(code).toBe(1);
    expect(stdout).toMatch(/^\S+ not sent: \S+ is neither a dead letter nor waiting; .*\n$/);
  });

  it.each([
    { args: ["redeliver"], complaint: "name the events, or use --all" },
    { args: ["redeliver", "c:1:opened", "--all"], complaint: "name the events, or use --all" },
    { args: ["show", "nonsense"], complaint: "<check>:<episode>:<kind>" },
    { args: ["show", "nothing:1:opened"], complaint: "there is no event nothing:1:opened" },
    { args: ["events", "--status", "lost"], complaint: "Allowed choices are pending" },
  ])("refuses $args", async ({ args, complaint }) => {
    const { stderr, code } = await vedette(...args);

    expect(code).toBe(1);
    expect(stderr).toContain(complaint);
  });
});
