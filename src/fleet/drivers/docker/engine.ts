/** The API of one Docker engine (https://docs.docker.com/reference/api/engine/). */
import type { z } from "zod";
import { parseAs } from "#fleet/drivers/calls.ts";
import { UnreachableError, UnwantedError } from "#fleet/drivers/driver.ts";
import { within } from "#kernel/async.ts";
import { parseJson, readBody } from "#kernel/body.ts";
import { type Dispatcher, request } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { type Connect, describeFailure } from "./connection.ts";
import { Refusal } from "./schemas.ts";

/** `path` is what comes after the version. `limitMs` is of the whole call. */
export type EngineRequest = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string>;
  body?: object;
  headers?: Record<string, string>;
  limitMs?: number;
  maxBytes?: number;
  signal?: AbortSignal | undefined;
  /** Asked right before the call is sent; if false it throws `UnwantedError` instead. */
  isWanted?: (() => boolean) | undefined;
};

/** `nowMs`: by the engine's clock, to the second. */
export type EngineAnswer = { status: number; body: unknown; nowMs: number };

/** The engine, or the proxy before it, refuses all that we ask. */
export class RefusedError extends Error {}

const callLimitMs = 30_000;
/** The limit of a list; one container or image has 20 KB at most. */
export const maxListBytes = 33_554_432;
const maxAnswerBytes = 1_048_576;

/** We know no newer one; and with an older one an engine lacks what we send. */
const newestVersion = "1.47";
const oldestVersion = "1.40";
/** Since this one a new container is connected to all its networks at once. */
const everyNetworkVersion = "1.44";

export type Engine = ReturnType<typeof createEngine>;

/** `at`: the address, for its errors. */
export function createEngine(host: string, connect: Connect, at: string) {
  let version: Promise<string> | undefined;

  const send = async (path: string, asked: Omit<EngineRequest, "path">) => {
    const { method, body, headers, limitMs = callLimitMs, signal } = asked;
    const whole = within(limitMs, signal);
    try {
      const { origin, dispatcher } = await connect.open(whole);
      if (asked.isWanted?.() === false) throw new UnwantedError("the order is no longer wanted");
      const query = asked.query && new URLSearchParams(asked.query);
      return await request(`${origin}${path}${query ? `?${query}` : ""}`, {
        method,
        dispatcher,
        signal: whole,
        headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw fail(error);
    }
  };

  const fail = (error: unknown): Error => {
    const isTold = [UnreachableError, RefusedError, UnwantedError].some(
      (one) => error instanceof one,
    );
    if (isTold) return error as Error;
    if (!isEnded(error)) {
      // Data that was read at the connection, such as certificates, is read again at the next one.
      version = undefined;
      connect.reset();
    }
    const words = `${describeFailure(error as Error)} at ${at}`;
    return new UnreachableError(`unreachable: the engine of ${host}: ${words}`, { cause: error });
  };

  const negotiate = async (): Promise<string> => {
    const answer = await send("/_ping", { method: "GET" });
    await answer.body.dump();
    judgeStatus(answer.statusCode, undefined, host);
    return chooseVersion(String(answer.headers["api-version"] ?? ""), host);
  };

  const readVersion = (): Promise<string> => {
    version ??= negotiate().catch((error: unknown) => {
      version = undefined;
      throw error;
    });
    return version;
  };

  /** The raw answer, for what comes line by line. */
  const open = async (asked: EngineRequest): Promise<Dispatcher.ResponseData> =>
    send(`/v${await readVersion()}${asked.path}`, asked);

  return {
    host,
    open,
    fail,
    /** Answers refusals too: only those that concern all calls, and failures of the engine, are thrown. */
    async call(asked: EngineRequest): Promise<EngineAnswer> {
      const answer = await open(asked);
      let bytes: Buffer | undefined;
      try {
        bytes = await readBody(answer.body, asked.maxBytes ?? maxAnswerBytes);
      } catch (error) {
        throw fail(error);
      }
      if (bytes === undefined) {
        throw new UnreachableError(`unreachable: too large an answer from the engine of ${host}`);
      }
      // Some errors are plain text.
      const body = parseJson(bytes) ?? bytes.toString();
      judgeStatus(answer.statusCode, body, host);
      if (answer.statusCode === 400 && /client version .* is too/i.test(messageOf(body))) {
        // It is another one than it was: the next call asks for its version.
        version = undefined;
        throw new UnreachableError(`unreachable: the engine of ${host} has another version now`);
      }
      const nowMs = Date.parse(String(answer.headers["date"])) || Date.now();
      return { status: answer.statusCode, body, nowMs };
    },
    everyNetwork: async () => !isOlder(await readVersion(), everyNetworkVersion),
    stop: () => connect.stop(),
  };
}

/** `theirs`: the newest that the engine has. */
function chooseVersion(theirs: string, host: string): string {
  if (!/^1\.\d+$/.test(theirs)) {
    throw new UnreachableError(`unreachable: no Docker engine answers at ${host}`);
  }
  if (isOlder(theirs, oldestVersion)) {
    const words = `the engine of ${host} has API ${theirs}, ${oldestVersion} is the oldest`;
    throw new RefusedError(`config_invalid: ${words} that can be used`);
  }
  return isOlder(theirs, newestVersion) ? theirs : newestVersion;
}

/** By us: the connection may well be good. */
function isEnded(error: unknown): boolean {
  return ["TimeoutError", "AbortError"].includes((error as Error).name);
}

/** 403 with words is what an engine says of an address in use; a proxy before it has a page of its own. */
function judgeStatus(status: number, body: unknown, host: string): void {
  const isOfEngine = Refusal.safeParse(body).success;
  if (status === 401 || (status === 403 && !isOfEngine)) {
    throw new RefusedError(`unauthorized: the engine of ${host} answered ${status}`);
  }
}

export function messageOf(body: unknown): string {
  const { data } = Refusal.safeParse(body);
  const text = data?.message ?? (typeof body === "string" ? body : "");
  return cleanWords(text, 500).trim();
}

/** Throws for any answer but a good one. */
export function expectGood({ status, body }: EngineAnswer, what: string, engine: Engine): unknown {
  if (status < 300 || status === 304) return body;
  const words = `${what}: the engine of ${engine.host} answered ${status}: ${messageOf(body)}`;
  throw new UnreachableError(`unreachable: ${words}`);
}

export function parseAnswer<T>(schema: z.ZodType<T>, body: unknown, { host }: Engine): T {
  return parseAs(schema, body, `the answer of the engine of ${host}`);
}

function isOlder(version: string, other: string): boolean {
  return Number(version.split(".")[1]) < Number(other.split(".")[1]);
}
