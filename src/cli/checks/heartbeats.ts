/** `vedette heartbeats`: their status, and the ping URL that a job calls when it ran. */
import { setTimeout as delay } from "node:timers/promises";
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { makeToken, registerToken } from "#cli/token.ts";
import { pick } from "#kernel/nearest.ts";
import { heartbeatHandlers, heartbeatService } from "#monitor/operations/contract.ts";
import { heartbeatsOf, reportHeartbeats } from "./report-heartbeats.ts";

export async function listHeartbeats(options: GlobalOptions): Promise<number> {
  const list = await connect(options).checks("List", {});
  const heartbeats = heartbeatsOf(list);
  return printAnswer({ taken_at: list.taken_at, heartbeats }, options.json, () =>
    reportHeartbeats(heartbeats),
  );
}

/** The command generates the token: Vedette stores its hash and sees the token in pings only. */
export async function registerHeartbeat(id: string, options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const list = await connection.checks("List", {});
  pick("heartbeat", id, heartbeatsOf(list));
  const { token, hash } = makeToken();
  const { output } = heartbeatHandlers.Register;
  const address = `${heartbeatService}/${id}/Register`;
  const answer = await registerToken(`${connection.url}/${token}`, () =>
    connection.call(address, { token_hash: hash }, output),
  );
  const url = `${(answer.ping_url ?? connection.url).replace(/\/+$/, "")}/${token}`;
  printAnswer(
    { check: id, url, replaced: answer.replaced },
    options.json,
    () => `${url}\n${answer.replaced ? "The earlier address is void. " : ""}${how}`,
  );
  await untilListed(connection, id);
  return 0;
}

/** Lists lag behind by seconds: the next command shows the heartbeat with its deadline. */
async function untilListed(connection: Connection, id: string): Promise<void> {
  const untilMs = performance.now() + listedWithinMs;
  const isListed = async () =>
    (await connection.checks("List", {})).checks.some((one) => one.id === id && one.since !== null);
  while (!(await isListed()) && performance.now() < untilMs) await delay(200);
}

const listedWithinMs = 6_000;

const how =
  "Save it: it is shown once. Call it when the job has succeeded; or append /start, /fail or /<exit code>.";
