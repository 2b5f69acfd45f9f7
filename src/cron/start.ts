/** Sets all timers going, as often as a worker starts: one that goes already is left alone. */
import pRetry from "p-retry";
import { request } from "undici";
import { cronJobs, cronServiceName } from "./contract.ts";

const requestTimeoutMs = 10_000;

/** `ingressUrl` is Restate's own. Throws when it does not take the calls for half a minute. */
export async function startCron(ingressUrl: string): Promise<void> {
  await Promise.all(
    cronJobs.map((job) =>
      pRetry(() => sendStart(`${ingressUrl}/${cronServiceName}/${job}/start/send`), {
        retries: 8,
        minTimeout: 100,
        maxTimeout: 8_000,
      }),
    ),
  );
}

async function sendStart(address: string): Promise<void> {
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
