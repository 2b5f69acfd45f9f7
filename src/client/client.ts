/** The module that a program of yours imports as `vedette/client`: the handlers of the rollout, over `control`. */
import type { z } from "zod";
import { defaultFleet, FleetName } from "#fleet/contract.ts";
import {
  blockingHandlers,
  type RolloutHandlerName,
  rolloutHandlers,
  rolloutServiceName,
} from "#rollout/contract.ts";
import { type Call, callOnce, type Gateway } from "./call.ts";
import { VedetteError } from "./vedette-error.ts";

export type {
  RollbackResult,
  RolloutHistory,
  RolloutPlan,
  RolloutRequest,
  RolloutStatus,
} from "#rollout/contract.ts";
export { VedetteError } from "./vedette-error.ts";

export type ClientOptions = {
  /** The address of control, such as `https://rollouts.example.com`. */
  url: string;
  /** The ingress token, or that of an operator. Absent: the calls have none, for a proxy that adds it. */
  token?: string | undefined;
  /** Whose rollouts; absent: the default fleet's. */
  fleet?: string | undefined;
  /** Limit of a whole call, in milliseconds. By default 40 s; a day for a call that answers at the rollout's end. */
  timeoutMs?: number | undefined;
  /** Replaces the global `fetch`: for a proxy or a certificate authority of your own. */
  fetch?: typeof fetch | undefined;
};

export type CallOptions = {
  /** Limit of this call as a whole, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Ends the call, not the rollout: the call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Calls with the same key, handler and body are one call, for a week. By default each call has its own. */
  idempotencyKey?: string | undefined;
};

type Input<Handler extends RolloutHandlerName> = z.input<
  (typeof rolloutHandlers)[Handler]["input"]
>;
type Output<Handler extends RolloutHandlerName> = z.output<
  (typeof rolloutHandlers)[Handler]["output"]
>;

type Method<Handler extends RolloutHandlerName> =
  Record<string, never> extends Input<Handler>
    ? (input?: Input<Handler>, options?: CallOptions) => Promise<Output<Handler>>
    : (input: Input<Handler>, options?: CallOptions) => Promise<Output<Handler>>;

/**
 * One method for each handler. `rollout`, `resume` and `rollbackAll` answer when the rollout has ended or paused: a
 * lost connection and a restart of Vedette do not end the call, and it is made once. Each method throws
 * `VedetteError`.
 */
export type Client = { [Handler in RolloutHandlerName as Uncapitalize<Handler>]: Method<Handler> };

const dayMs = 86_400_000;
/** A little longer than the gateway's own timeout, so that its refusal is what is thrown. */
const answerTimeoutMs = 40_000;

/** Throws an error that says what is wrong with the options. */
export function createClient(options: ClientOptions): Client {
  const gateway = gatewayOf(options);
  const fleet = options.fleet ?? defaultFleet;
  if (!FleetName.safeParse(fleet).success) throw new TypeError(`"${fleet}" is no name of a fleet`);
  const methods = Object.keys(rolloutHandlers).map((name) => {
    const handler = name as RolloutHandlerName;
    const method = (input: object = {}, call: CallOptions = {}) =>
      perform(
        gateway,
        { fleet, handler },
        { input, timeoutMs: options.timeoutMs, ...defined(call) },
      );
    return [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, method];
  });
  return Object.fromEntries(methods) as Client;
}

async function perform(
  gateway: Gateway,
  { fleet, handler }: { fleet: string; handler: RolloutHandlerName },
  { input, timeoutMs, ...rest }: { input: object } & CallOptions,
): Promise<unknown> {
  const isBlocking = blockingHandlers.includes(handler);
  const limitMs = timeoutMs ?? (isBlocking ? dayMs : answerTimeoutMs);
  checkLimitMs(limitMs);
  const path = `${rolloutServiceName}/${fleet}/${handler}`;
  const call: Call = { path, body: input, limitMs, ...rest };
  const answer = await (isBlocking ? callToEnd(gateway, call) : callOnce(gateway, call));
  const read = rolloutHandlers[handler].output.safeParse(answer);
  if (read.success) return read.data;
  const detail = `what ${gateway.url} answered is no answer of ${handler}: is it the address of control?`;
  throw new VedetteError({ status: 200, code: "unexpected_answer", detail }, { cause: read.error });
}

function defined<Options extends object>(options: Options): Options {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Options;
}

type Options = {
  url: string;
  token?: string | undefined;
  timeoutMs?: number | undefined;
  fetch?: typeof fetch | undefined;
};

/** Throws an error that says which option is wrong; none of them repeats the token. */
function gatewayOf({ url, token, timeoutMs, fetch: send = fetch }: Options): Gateway {
  if (timeoutMs !== undefined) checkLimitMs(timeoutMs);
  return {
    url: addressOf(url),
    headers: { "content-type": "application/json", ...authorization(token) },
    send,
  };
}

/** Limit of a timer: a longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

function checkLimitMs(limitMs: number): void {
  if (Number.isInteger(limitMs) && limitMs > 0 && limitMs <= longestMs) return;
  throw new Error(`timeoutMs is ${limitMs}: give whole milliseconds, from 1 to ${longestMs}`);
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(
      "url is no address: give that of control, such as https://rollouts.example.com",
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Error(
      "url has a user, a query or a fragment: give the address alone, and the token as token",
    );
  }
  return url.href.replace(/\/+$/, "");
}

/** A token that was read from a file often ends with a line break. */
function authorization(token: string | undefined): Record<string, string> {
  if (token === undefined) return {};
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return { authorization: `Bearer ${trimmed}` };
  throw new Error("token is empty, or has characters that no token has: give the ingress token");
}

/** Proxies close connections that are silent for minutes: the call is taken up again before. */
const attemptMs = 60_000;
const pauseMs = 1_000;
/** Vedette may be away for so long, as for a restart. */
const awayMs = 120_000;

/**
 * Repeats the call under one idempotency key, so that it is made once. Throws the refusal; what it had last when
 * Vedette is away for two minutes; or `timeout` once the limit of the call is reached.
 */
async function callToEnd(gateway: Gateway, call: Call): Promise<unknown> {
  const { limitMs, signal } = call;
  const keyed = { ...call, idempotencyKey: call.idempotencyKey ?? crypto.randomUUID() };
  const endMs = performance.now() + limitMs;
  let seenMs = performance.now();
  for (;;) {
    const leftMs = Math.max(1, Math.ceil(endMs - performance.now()));
    try {
      return await callOnce(gateway, { ...keyed, limitMs: Math.min(attemptMs, leftMs) });
    } catch (error) {
      if (classify(error) === "final") throw error;
      if (performance.now() >= endMs) throw overdue(gateway, limitMs, error);
      seenMs = await waitForReturn(error, { seenMs, signal });
    }
  }
}

type Absence = { seenMs: number; signal: AbortSignal | undefined };

/** Returns when Vedette was last reachable. Throws the error when that is too long ago. */
async function waitForReturn(error: unknown, { seenMs, signal }: Absence): Promise<number> {
  const nowMs = performance.now();
  if (classify(error) === "open") return nowMs;
  if (nowMs - seenMs > awayMs) throw error;
  await pause(signal);
  return seenMs;
}

/** `open`: the attempt is over, while the call goes on. A stored refusal is the same under the same key. */
function classify(error: unknown): "open" | "away" | "final" {
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
