/** Helpers for Restate: its address, waits, timers, and errors that end an invocation. */
import {
  CancelledError,
  type Context,
  InvocationIdParser,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
  rpc,
  TerminalError,
} from "@restatedev/restate-sdk";
import { Agent, request } from "./http.ts";
import { ProblemError } from "./problem.ts";

// Waits for the end of another invocation, also of one that was killed.

type AnyContext = Context | ObjectSharedContext;

/** The invocation's result; that of `lost`, with the reason, when it ended without; or that of `sooner`. */
export async function attachOrLost<Result>(
  ctx: AnyContext,
  invocation: string,
  { lost, sooner }: { lost: (reason: string) => Promise<Result>; sooner?: RestatePromise<Result> },
): Promise<Result> {
  const end = ctx.invocation(InvocationIdParser.fromString(invocation)).attach<Result>();
  try {
    return await (sooner === undefined ? end : RestatePromise.race([end, sooner]));
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    return lost(error.message);
  }
}

/** `result` is absent when the invocation ended without one: then `failure` says why. */
type InvocationEnd<Result> = { result?: Result; failure?: string };

/** Returns how the invocations ended; undefined: some are still running after `withinMs`. */
export async function endsWithin<Result>(
  ctx: AnyContext,
  invocations: readonly string[],
  withinMs: number,
): Promise<InvocationEnd<Result>[] | undefined> {
  const ends = invocations.map((id) =>
    ctx
      .invocation(InvocationIdParser.fromString(id))
      .attach<Result>()
      .map(
        (result, failure): InvocationEnd<Result> =>
          failure === undefined ? { result: result as Result } : { failure: failure.message },
      ),
  );
  const timeout = ctx.sleep(withinMs).map(() => undefined);
  return RestatePromise.race([RestatePromise.all(ends), timeout]);
}

// The timer of a virtual object: a delayed call to itself, which survives the end of the process.

/** `Timer`: what is stored of the current timer. An object has at most one; calls of earlier ones do nothing. */
export function durableTimer<Timer extends { generation: number }>(stateKey: string) {
  const read = (ctx: ObjectSharedContext) => ctx.get<Timer>(stateKey);
  return {
    read,
    /** The timer that made this call; null: another one has replaced it since. */
    readCurrent: async (ctx: ObjectContext, generation: number): Promise<Timer | null> => {
      const timer = await read(ctx);
      return timer?.generation === generation ? timer : null;
    },
    /** Replaces the timer `before`; `call` sends the delayed call, which carries the new generation. */
    set: (
      ctx: ObjectContext,
      { before, ...timer }: { before: Timer | null } & Omit<Timer, "generation">,
      call?: (generation: number) => void,
    ): void => {
      const generation = (before?.generation ?? 0) + 1;
      ctx.set(stateKey, { generation, ...timer });
      call?.(generation);
    },
    /** Changes what is stored of the timer: its call remains valid. */
    update: (ctx: ObjectContext, timer: Timer): void => ctx.set(stateKey, timer),
    clear: (ctx: ObjectContext) => ctx.clear(stateKey),
  };
}

/** Options of a call that is made in `delayMs`; at once when that is negative. */
export function after<Request>(delayMs: number) {
  return rpc.sendOpts<Request>({ delay: Math.max(0, delayMs) });
}

/** A refusal inside a Restate handler: the caller gets its status at once, and Restate doesn't retry. */
export function toTerminalError(problem: ProblemError): TerminalError {
  return new TerminalError(problem.message, {
    errorCode: problem.status,
    metadata: { code: problem.code },
  });
}

/** Serves as the option `asTerminalError` of every service that refuses calls: any other error is retried. */
export function asTerminalError(error: unknown): TerminalError | undefined {
  return error instanceof ProblemError ? toTerminalError(error) : undefined;
}

/**
 * The results of what a handler has asked Restate for, in one round trip. `Promise.all` would fail the attempt, which is
 * repeated after a pause: the SDK waits for one thing at a time. Its reads of state are such promises too, although their
 * type does not say so.
 */
export function together<Results extends readonly unknown[]>(
  asked: readonly [...{ [Key in keyof Results]: Promise<Results[Key]> }],
): Promise<Results> {
  const all = RestatePromise.all(asked.map((one) => RestatePromise.resolve<unknown>(one)));
  return all as Promise<unknown> as Promise<Results>;
}

/** Restate retries for ever. Without it a server with other settings pauses a call after 70 attempts, for good. */
export const untilDone = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 2_000,
  maxAttempts: 1_000_000_000,
};

/** For handlers that only read: Restate would store each answer for a day, and pages call each second. */
export const unkept = { journalRetention: 0, idempotencyRetention: 0 };

/** Cleanup for an invocation that was ended because this version cannot continue it. */
type Duty = {
  /** Called again with the same argument, by handlers that may run twice: the first call's effects are not undone. */
  isCalledAgain?: true;
  /** A handler of the same key, called without an argument: it repairs what was left incomplete. */
  restoredBy?: string;
};

/**
 * By `<service>/<handler>`. An invocation of a handler without a duty is only ended: its caller gets an
 * error, or something calls it again anyway. A call of a handler with a duty may also be repeated when the
 * invocation that sent it is ended before the call has started.
 */
export type Duties = Readonly<Record<string, Duty>>;

export function dutiesOf<Handlers>(
  { name }: { name: string; _handlers: Handlers },
  duties: { readonly [handler in keyof Handlers]?: Duty },
): Duties {
  const entries = Object.entries<Duty>(duties as Record<string, Duty>);
  return Object.fromEntries(entries.map(([handler, duty]) => [`${name}/${handler}`, duty]));
}

// Restate's address: an http URL, or a unix socket written as `http+unix://<path>/…`.

const socketScheme = "http+unix://";

/** The address of a server at a unix socket. A URL path may be appended to it. */
export function socketAddress(socketPath: string): string {
  return `${socketScheme}${encodeURIComponent(socketPath)}`;
}

type RestateAddress = { url: string; socketPath: string | undefined };

/** The URL to request and the socket to connect to, which is undefined for a plain http address. */
export function reachAddress(address: string): RestateAddress {
  if (!address.startsWith(socketScheme)) return { url: address, socketPath: undefined };
  const [host = "", ...path] = address.slice(socketScheme.length).split("/");
  const url = ["http://localhost", ...path].join("/");
  return { url, socketPath: decodeURIComponent(host) };
}

/** undici's `request`, to an address of either kind. */
export function requestRestate(
  address: string,
  options: NonNullable<Parameters<typeof request>[1]>,
): ReturnType<typeof request> {
  const { url, socketPath } = reachAddress(address);
  if (socketPath === undefined) return request(url, options);
  return request(url, { ...options, dispatcher: agentOf(socketPath) });
}

/** Throws unless the server takes calls at its ingress. The caller limits the time. */
export async function requireHealth(ingressUrl: string): Promise<void> {
  const answer = await requestRestate(`${ingressUrl}/restate/health`, {
    method: "GET",
    ...healthLimits,
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`Restate answered ${answer.statusCode}`);
}

const healthLimits = { headersTimeout: 2_000, bodyTimeout: 2_000 };

const agents = new Map<string, Agent>();

/** One agent per socket, never closed: a program has two, and idle connections keep no process alive. */
function agentOf(socketPath: string): Agent {
  const known = agents.get(socketPath);
  if (known !== undefined) return known;
  const agent = new Agent({ connect: { socketPath, timeout: 5_000 } });
  agents.set(socketPath, agent);
  return agent;
}
