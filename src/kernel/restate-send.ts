/** Sends calls to Restate's own ingress; once accepted they are durable. */
import pRetry from "p-retry";
import { requestRestate } from "./restate-address.ts";

const sendTimeoutMs = 5_000;
const answerTimeoutMs = 60_000;

/** Retries until Restate accepts: while it starts, or while a caller waits for an answer. */
export const patience = {
  start: { retries: 8, minTimeout: 100, maxTimeout: 8_000 },
  // After an attempt that was not answered at all there is no other.
  caller: { retries: 3, minTimeout: 200, maxTimeout: 2_000, maxRetryTime: 4_000 },
} as const;

/** `address` without `/send`. Retried when the response is lost, so the call may be made twice. */
export async function sendToRestate(
  address: string,
  body: object,
  retries: (typeof patience)[keyof typeof patience],
): Promise<void> {
  await pRetry(() => post(`${address}/send`, body, sendTimeoutMs), retries);
}

/** Calls once and waits for the end. Throws after a minute; the call may still end later. */
export async function callRestate(address: string, body: object): Promise<void> {
  await post(address, body, answerTimeoutMs);
}

async function post(address: string, given: object, timeoutMs: number): Promise<void> {
  const { statusCode, body } = await requestRestate(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
    signal: AbortSignal.timeout(timeoutMs),
  });
  await body.dump();
  if (statusCode >= 300) throw new Error(`Restate answered ${statusCode} to ${address}`);
}
