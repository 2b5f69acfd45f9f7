/** Alerts from a job's word to the incident service, with the program's parts killed all the while. */
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AlertEventList } from "#alerts/contract.ts";
import type { CheckList } from "#monitor/results/contract.ts";
import { eventIdsOf } from "../../support/alerts/alert-builders.ts";
import {
  type AlertReceiver,
  type Answer,
  startAlertReceiver,
} from "../../support/alerts/alert-receiver.ts";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Both have a channel; the first belongs to production, the other to staging. */
const checks = ["certificate-workflow", "quota-check-staging"] as const;

/** What is killed while an episode goes on, and how long after its first word. */
const kills = killings([20, 150, 600]);

/** A receiver on a bad day; the seed makes it the same one each time. */
const moods: Answer[] = fc.sample(
  fc.constantFrom<Answer>(
    "accept",
    "accept",
    "accept",
    "accept",
    "lost",
    "reset",
    "hang",
    { status: 500 },
    { status: 429, headers: { "retry-after": "1" } },
  ),
  { seed: 7, numRuns: 80 },
);

let receiver: AlertReceiver;
let program: Program;
const pingUrls = new Map<string, string>();

beforeAll(async () => {
  receiver = await startAlertReceiver();
  receiver.behave = () => moods.shift() ?? "accept";
  const { url, sourceId, token } = receiver;
  program = await startProgram({
    VEDETTE_INCIDENT__URL: url,
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: sourceId,
    VEDETTE_ALERTS__PRODUCTION__TOKEN: token,
    VEDETTE_ALERTS__STAGING__SOURCE_ID: sourceId,
    VEDETTE_ALERTS__STAGING__TOKEN: token,
    VEDETTE_ALERTS__ATTEMPT_TIMEOUT_SECONDS: "1",
  });
  for (const check of checks) pingUrls.set(check, await register(check));
});

afterAll(async () => {
  await program?.dispose();
  await receiver?.stop();
});

/** The path of the ping URL. */
async function register(check: string): Promise<string> {
  const token = randomBytes(32).toString("base64url");
  const answer = await fetch(
    `${program.endpoints().control}/vedette.v1.Heartbeat/${check}/Register`,
    {
      method: "POST",
      headers: {
        authorization: `Bearer ${program.token()}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ token_hash: createHash("sha256").update(token).digest("hex") }),
    },
  );
  expect(answer.status).toBe(200);
  return token;
}

/** As a job does with `curl --retry`: until it is taken. */
function ping(check: string, suffix = ""): Promise<unknown> {
  const address = () => `${program.endpoints().control}/${pingUrls.get(check)}${suffix}`;
  return waitFor(
    async () => (await fetch(address(), { signal: AbortSignal.timeout(8_000) })).status === 200,
    { withinMs: 60_000, what: `${check} to be pinged` },
  );
}

/** Accepted events of a check in the order in which they were first accepted. */
function accepted(check: string): string[] {
  const ids = receiver.events.map(({ eventId }) => eventId);
  return [...new Set(ids)].filter((id) => id.startsWith(`${check}:`));
}

/** Calls a handler of control. */
async function ask(path: string) {
  const answer = await fetch(`${program.endpoints().control}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
    body: "{}",
    signal: AbortSignal.timeout(8_000),
  });
  return answer.json() as Promise<Record<string, never>>;
}

/** A success that was not taken while something was killed is made good by the next. */
const untilWell = (check: string) =>
  waitFor(
    async () => {
      await ping(check);
      const { checks: all } = (await ask("vedette.v1.CheckReads/List")) as unknown as CheckList;
      return all.find(({ id }) => id === check)?.alert === null;
    },
    { withinMs: 30_000, what: `${check} to be well` },
  );

it("tells each failure and each recovery, in order, whatever is killed and however the receiver answers", {
  retry: 0,
  timeout: 900_000,
}, async () => {
  for (const [parts, afterMs] of kills) {
    const killed = delay(afterMs).then(() => killAndRestart(program, parts));
    for (const check of checks) {
      await ping(check, "/fail");
      await ping(check);
    }
    await killed;
  }
  receiver.behave = () => "accept";
  for (const check of checks) await untilWell(check);
  await waitFor(
    async () => {
      const { events } = (await ask("vedette.v1.AlertEvents/List")) as unknown as AlertEventList;
      return events.length > 0 && events.every(({ status }) => status === "accepted");
    },
    { withinMs: 120_000, what: "every event to be accepted" },
  );

  for (const check of checks) {
    expect(accepted(check)).toEqual(eventIdsOf(kills.length, check));
  }
  expect(receiver.faults).toEqual([]);
});
