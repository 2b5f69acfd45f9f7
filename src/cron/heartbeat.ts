/** Tells a monitor that a job has done its work. */
import pRetry, { AbortError } from "p-retry";
import { request } from "undici";

/** Requests the URL once; again only when nothing came of it. Answers what failed, or null. */
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

/** No message of ours or of the client's ever has the URL in it: its path is a token. */
async function attempt(url: string): Promise<void> {
  const status = await statusOf(url);
  if (status < 300) return;
  const error = new Error(`status ${status}`);
  const isPassing = status >= 500 || status === 408 || status === 429;
  throw isPassing ? error : new AbortError(error);
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
