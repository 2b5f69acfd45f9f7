/** Sets all checks going, as often as a worker starts: one that goes already is left alone. */
import pLimit from "p-limit";
import pRetry from "p-retry";
import { request } from "undici";
import { apiCheckService, heartbeatService } from "./objects-contract.ts";
import type { MonitorParts } from "./parts.ts";

const requestTimeoutMs = 10_000;

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { definitions, inbox }: Pick<MonitorParts, "definitions" | "inbox">,
): Promise<void> {
  const known = new Set(definitions.heartbeats.map(({ id }) => id));
  const registered = (await inbox.registered()).filter((id) => known.has(id));
  const limit = pLimit(32);
  await Promise.all([
    ...definitions.apiChecks.map(({ id }) =>
      limit(() => ensure(`${ingressUrl}/${apiCheckService}/${id}`)),
    ),
    ...registered.map((id) => limit(() => ensure(`${ingressUrl}/${heartbeatService}/${id}`))),
  ]);
}

async function ensure(object: string): Promise<void> {
  await pRetry(() => send(`${object}/ensure/send`), {
    retries: 8,
    minTimeout: 100,
    maxTimeout: 8_000,
  });
}

async function send(address: string): Promise<void> {
  const { statusCode, body } = await request(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
  });
  await body.dump();
  if (statusCode >= 300) throw new Error(`Restate refused to start ${address}: ${statusCode}`);
}
