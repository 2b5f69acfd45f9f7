/** A call that answers when the work is over, however often the connection breaks until then. */
import { type Call, callOnce, type Gateway } from "./call.ts";
import { VedetteError } from "./vedette-error.ts";

/** Proxies close connections that are silent for minutes: the call is taken up again before. */
const attemptMs = 60_000;
const pauseMs = 1_000;
/** How long Vedette may be away, as for a restart. */
const awayMs = 120_000;

/**
 * Repeats the call under one idempotency key, so that it is made once. Throws the refusal; what it had last when
 * Vedette is away for two minutes; or `timeout` once the limit of the call is reached.
 */
export async function callToEnd(gateway: Gateway, call: Call): Promise<unknown> {
  const { limitMs, signal } = call;
  const keyed = { ...call, idempotencyKey: call.idempotencyKey ?? crypto.randomUUID() };
  const endMs = performance.now() + limitMs;
  let seenMs = performance.now();
  for (;;) {
    const leftMs = Math.max(1, Math.ceil(endMs - performance.now()));
    try {
      return await callOnce(gateway, { ...keyed, limitMs: Math.min(attemptMs, leftMs) });
    } catch (error) {
      if (judge(error) === "final") throw error;
      if (performance.now() >= endMs) throw overdue(gateway, limitMs, error);
      seenMs = await waitForReturn(error, { seenMs, signal });
    }
  }
}

type Absence = { seenMs: number; signal: AbortSignal | undefined };

/** When Vedette was seen last. Throws the error when that is too long ago. */
async function waitForReturn(error: unknown, { seenMs, signal }: Absence): Promise<number> {
  const nowMs = performance.now();
  if (judge(error) === "open") return nowMs;
  if (nowMs - seenMs > awayMs) throw error;
  await pause(signal);
  return seenMs;
}

/** `open`: the attempt is over, while the call goes on. A stored refusal is the same under the same key. */
function judge(error: unknown): "open" | "away" | "final" {
  if (!(error instanceof VedetteError)) return "final";
  if (error.code === "timeout" && error.status === 0) return "open";
  if (error.code === "unreachable") return "away";
  const mayPass = [408, 429, 502, 503, 504].includes(error.status);
  return mayPass && error.code !== "registry_unavailable" ? "away" : "final";
}

function overdue({ url }: Gateway, limitMs: number, cause: unknown): VedetteError {
  const detail = `the call to ${url} did not end within ${limitMs} ms; the rollout goes on, and status() says how`;
  return new VedetteError({ status: 0, code: "timeout", detail }, { cause });
}

function pause(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, pauseMs);
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", end, { once: true });
  });
}
