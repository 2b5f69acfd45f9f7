/** Calls to an API server (https://kubernetes.io/docs/reference/using-api/api-concepts/). */
import pLimit from "p-limit";
import type { z } from "zod";
import { checkWanted, parseAs } from "#fleet/drivers/calls.ts";
import { UnreachableError, UnwantedError } from "#fleet/drivers/driver.ts";
import { unlessAborted, within } from "#kernel/async.ts";
import { linesOf, parseJson, readBody, readEnd } from "#kernel/body.ts";
import { type Dispatcher, request } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { createConnection } from "./connection.ts";
import type { Identities, Identity } from "./identity.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { StatusBody } from "./schemas.ts";

/** `path` with its query. `limitMs` is of the whole call. */
export type ClusterRequest = {
  method: "GET" | "PATCH" | "POST" | "DELETE";
  path: string;
  body?: object;
  contentType?: string;
  signal?: AbortSignal | undefined;
  limitMs?: number;
  /** Left open: such calls have connections of their own. */
  isWatch?: boolean;
  /** The list of which the call reads a page. */
  list?: List;
  /** Asked right before the call is sent; if false it throws `UnwantedError` instead. */
  isWanted?: (() => boolean) | undefined;
};

/** `bytes`: of its pages so far. */
type List = { bytes: number };
export type ClusterAnswer = { status: number; body: unknown };

export type Stream = {
  path: string;
  limitMs: number;
  signal: AbortSignal;
  /** A longer line ends the stream with an error. */
  maxLineBytes: number;
};

type TextRequest = { path: string; signal: AbortSignal; keepBytes: number; maxBytes: number };

/** The API server refuses all that we ask, or this verb. The message begins with a reason code. */
export class ForbiddenError extends Error {}

const callLimitMs = 15_000;
/** The limit of one object: etcd stores none of more than 1.5 MiB. */
const maxObjectBytes = 2_097_152;
const maxPageBytes = 33_554_432;
/** The limit of all lists that are read at one time. */
const maxListBytes = 134_217_728;
const mostParts = 1_000_000;
/** The limit of calls at one time, so that we do not run into an API server's own limits. */
const mostCalls = 16;
const mostTexts = 4;
/** The longest pause that a server may ask for; after more than this it counts as away. */
const longestPauseMs = 10_000;

export type Cluster = ReturnType<typeof createCluster>;

export function createCluster(access: ClusterAccess, identities: Identities) {
  const limit = pLimit(mostCalls);
  const connection = createConnection(access, mostCalls);
  const clock = createClock();
  const lists = new Set<List>();
  let pausedUntilMs = 0;

  const open = async (asked: ClusterRequest, whole: AbortSignal) => {
    const { method, path, body, contentType = "application/json" } = asked;
    const identity = await identify(identities);
    whole.throwIfAborted();
    const dispatcher = connection.of(identity, asked.isWatch === true);
    const { isWanted } = asked;
    return request(`${access.server}${path}`, {
      method,
      dispatcher: isWanted ? dispatcher.compose(checkWanted(isWanted)) : dispatcher,
      signal: whole,
      headers: {
        accept: "application/json",
        ...(identity.authorization !== undefined && { authorization: identity.authorization }),
        ...(body !== undefined && { "content-type": contentType }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };

  const send = async (asked: ClusterRequest, whole: AbortSignal): Promise<ClusterAnswer> => {
    const answer = await open(asked, whole);
    clock.note(answer.headers["date"]);
    const bytes = await readAnswer(answer.body, asked.list, lists);
    const read = { status: answer.statusCode, body: parseJson(bytes, mostParts) };
    if (isThrottled(read)) pausedUntilMs = Date.now() + pauseOf(answer.headers["retry-after"]);
    return read;
  };

  const attempt = async (asked: ClusterRequest, whole: AbortSignal): Promise<ClusterAnswer> => {
    whole.throwIfAborted();
    if (Date.now() < pausedUntilMs) {
      throw new UnreachableError("unreachable: the API server asks for fewer calls");
    }
    const answer = await send(asked, whole);
    if (answer.status !== 401) return answer;
    // A token may have been replaced since it was read.
    identities.refuse();
    return send(asked, whole);
  };

  return {
    namespace: access.namespace ?? "default",
    lists,
    /** Answers refusals that concern this call alone; throws for all others. */
    call: async (asked: ClusterRequest): Promise<ClusterAnswer> => {
      // The wait for its turn and for a credential counts.
      const whole = within(asked.limitMs ?? callLimitMs, asked.signal);
      try {
        const turn = () => unlessAborted(attempt(asked, whole), whole);
        const answer = await unlessAborted(limit(turn), whole);
        judgeStatus(answer, asked.method);
        return answer;
      } catch (error) {
        throw describe(error as Error, access);
      }
    },
    /** The lines of an answer as they come, until it ends or `limitMs` has passed. */
    async *stream({ path, limitMs, signal, maxLineBytes }: Stream): AsyncGenerator<string> {
      const asked: ClusterRequest = { method: "GET", path, isWatch: true };
      const answer = await open(asked, within(limitMs, signal));
      if (answer.statusCode !== 200) {
        await answer.body.dump();
        throw new UnreachableError(`unreachable: the API server answered ${answer.statusCode}`);
      }
      yield* linesOf(answer.body, maxLineBytes);
    },
    readEnd: createTexts(open, access),
    /** The earlier time of our clock and the API server's, and the later one (Unix ms). */
    nowMs: () => Date.now() + Math.min(0, clock.aheadMs()),
    orderedAtMs: () => Date.now() + Math.max(0, clock.aheadMs()),
    stop: () => connection.stop(),
  };
}

type OpenCall = (asked: ClusterRequest, whole: AbortSignal) => Promise<Dispatcher.ResponseData>;

/** Reads the end of an answer that is text, whatever its status. What came until the signal ended the call counts. */
function createTexts(open: OpenCall, access: ClusterAccess) {
  const limit = pLimit(mostTexts);
  return async ({ path, signal, keepBytes, maxBytes }: TextRequest) => {
    // With connections of its own, and few at once: one that drips must not keep other calls waiting.
    const turn = async () => {
      const answer = await open({ method: "GET", path, isWatch: true }, signal);
      const { end, stop } = await readEnd(answer.body, { keepBytes, maxBytes });
      return { status: answer.statusCode, text: end.toString(), stop };
    };
    try {
      return await limit(turn);
    } catch (error) {
      throw describe(error as Error, access);
    }
  };
}

/** Measures how far the API server's clock is ahead of ours: its header has whole seconds, less than 2 s is none. */
function createClock() {
  let aheadMs = 0;
  return {
    note: (header: string | string[] | undefined) => {
      const ahead = Date.parse(String(header)) - Date.now();
      if (Number.isFinite(ahead)) aheadMs = Math.abs(ahead) < 2_000 ? 0 : ahead;
    },
    aheadMs: () => aheadMs,
  };
}

async function identify(identities: Identities): Promise<Identity> {
  try {
    return await identities.current();
  } catch (error) {
    throw new UnreachableError(`unauthorized: ${(error as Error).message}`, { cause: error });
  }
}

function pauseOf(retryAfter: string | string[] | undefined): number {
  const askedMs = Number(retryAfter) * 1_000;
  return askedMs > 0 ? Math.min(longestPauseMs, askedMs) : 1_000;
}

const temporary = new Set([408, 500, 502, 503, 504]);

/** An eviction that a PodDisruptionBudget forbids for now is answered by 429 too, and says nothing about the server. */
function isThrottled({ status, body }: ClusterAnswer): boolean {
  const causes = StatusBody.safeParse(body).data?.details?.causes ?? [];
  return status === 429 && !causes.some(({ reason }) => reason === "DisruptionBudget");
}

/** By rights; an admission webhook that refuses one order answers 403 too. */
function isOfRights(method: string, words: string): boolean {
  return method === "GET" || /\bcannot \w+ resource\b/.test(words);
}

function judgeStatus(answer: ClusterAnswer, method: string): void {
  const { status, body } = answer;
  const words = messageOf(body);
  if (status === 401) throw new ForbiddenError("unauthorized: the API server does not know us");
  if (status === 403 && isOfRights(method, words))
    throw new ForbiddenError(`unauthorized: ${words || "403"}`);
  const isRedirect = status >= 300 && status < 400;
  if (temporary.has(status) || isThrottled(answer) || isRedirect || status > 504 || status < 200) {
    throw new UnreachableError(`unreachable: the API server answered ${status}: ${words}`);
  }
}

function describe(error: Error & { code?: unknown }, { server }: ClusterAccess): Error {
  const isTold = [UnreachableError, UnwantedError, ForbiddenError].some(
    (one) => error instanceof one,
  );
  if (isTold) return error;
  const words =
    error.name === "TimeoutError"
      ? "no answer in time"
      : error.name === "AbortError"
        ? "the call was ended"
        : String(error.code ?? error.message);
  return new UnreachableError(`unreachable: the API server ${server}: ${words}`, { cause: error });
}

export function messageOf(body: unknown): string {
  return cleanWords(StatusBody.safeParse(body).data?.message ?? "", 300).trim();
}

export function parseAnswer<T>(schema: z.ZodType<T>, { status, body }: ClusterAnswer): T {
  if (status >= 300) {
    throw new UnreachableError(
      `unreachable: the API server answered ${status}: ${messageOf(body)}`,
    );
  }
  return parseAs(schema, body, "the API server's answer");
}

const pageSize = 500;
/** A list with more pages has cursors that repeat. */
const maxPages = 200;
const endless = "unreachable: the API server's list has no end";

async function readAnswer(body: Body, list: List | undefined, lists: ReadonlySet<List>) {
  const bytes = await (list === undefined
    ? readBody(body, maxObjectBytes)
    : readBody(counted(body, list, lists), maxPageBytes));
  if (bytes === undefined) throw new UnreachableError("unreachable: too large an answer");
  return bytes;
}

type Body = AsyncIterable<Buffer>;

async function* counted(body: Body, list: List, lists: ReadonlySet<List>) {
  for await (const chunk of body) {
    list.bytes += chunk.length;
    const held = [...lists].reduce((sum, { bytes }) => sum + bytes, 0);
    if (held > maxListBytes) throw new UnreachableError(`${endless}, or too many are large`);
    yield chunk;
  }
}

type Page<Item> = { metadata: { continue: string }; items: Item[] };

type ListQuery<Item> = {
  path: string;
  query: Record<string, string>;
  page: z.ZodType<Page<Item>>;
  signal: AbortSignal | undefined;
};

/** A whole list, which comes in pages. */
export async function listAll<Item>(
  cluster: Pick<Cluster, "call" | "lists">,
  { path, query, page, signal }: ListQuery<Item>,
): Promise<Item[]> {
  const items: Item[] = [];
  const list = { bytes: 0 };
  let cursor = "";
  cluster.lists.add(list);
  try {
    for (let n = 0; n < maxPages; n++) {
      const next = cursor === "" ? {} : { continue: cursor };
      const asked = new URLSearchParams({ ...query, limit: String(pageSize), ...next });
      const answer = await cluster.call({ method: "GET", path: `${path}?${asked}`, signal, list });
      const { metadata, items: more } = parseAnswer(page, answer);
      items.push(...more);
      cursor = metadata.continue;
      if (cursor === "") return items;
    }
  } finally {
    cluster.lists.delete(list);
  }
  throw new UnreachableError(endless);
}
