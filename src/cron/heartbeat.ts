/** Pings the heartbeat of a job after a successful run. */
import pRetry, { AbortError } from "p-retry";
import { request } from "#kernel/http.ts";

/** Requests the URL; retries only a transient failure. Returns the failure, or null after success. */
export type PingHeartbeat = (url: string) => Promise<string | null>;

const attemptTimeoutMs = 10_000;

export function createPingHeartbeat(retry = { minTimeout: 1_000, maxTimeout: 10_000 }) {
  const ping: PingHeartbeat = async (url) => {
    try {
      await pRetry(() => attempt(url), { retries: 3, ...retry });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return ping;
}

/** No error message contains the URL, neither ours nor the client's: its path is a token. */
async function attempt(url: string): Promise<void> {
  const status = await statusOf(url);
  if (status < 300) return;
  const error = new Error(`status ${status}`);
  const isTransient = status >= 500 || status === 408 || status === 429;
  throw isTransient ? error : new AbortError(error);
}

async function statusOf(url: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(attemptTimeoutMs);
    const { statusCode, body } = await request(url, { method: "GET", signal });
    await body.dump();
    return statusCode;
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    throw new Error(`not reached: ${code ?? name}`);
  }
}
