/** The console: a page, its session, its stream of events, its reads and its writes. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { type ConsoleAccess, type ConsolePlugin, SeenState } from "#console/contract.ts";
import { findChanges } from "#console/diff.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { parseBody } from "#kernel/faults.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import { pathOf } from "#kernel/server.ts";
import {
  type Operation,
  type RolloutStateName,
  RolloutStatus,
  rolloutServiceName,
} from "#rollout/contract.ts";
import { createGuard, type Guard, missing, pageHeaders } from "./guard.ts";
import { createLive, type Live, serveStream } from "./live.ts";
import { serveProviderSignIn } from "./provider-sign-in.ts";
import { serveSignIn, serveTicketSignIn } from "./sign-in.ts";
import type { Logouts, Tickets } from "./stored.ts";
import { serveViews, type ViewSources } from "./views.ts";

export type ConsoleParts = ViewSources & {
  logouts: Logouts;
  tickets: Tickets;
  log: Log;
  /** Absent: sign-ins are not recorded. */
  record?: RecordAccess;
  dir: string;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
  /** The default one is the first. */
  fleets: readonly FleetOperators[];
  legalOperations: (state: RolloutStateName) => Operation[];
};

/** The caller in whose name the console reads what no single operator has requested. */
const itself: Caller = { actor: "console", roles: ["read"] };

export function createConsole(parts: ConsoleParts): ConsolePlugin {
  const { log, publicUrl, dir } = parts;
  const { html, build } = readBuiltPage(dir);
  return (access) => async (app) => {
    const guard = createGuard(access, parts);
    const fleets = parts.fleets.map(({ name }) => name);
    const liveOf = (name: string) => {
      const read = (signal: AbortSignal) => readStatus(access, { by: itself, fleet: name, signal });
      const nowMs = () => performance.now();
      return [name, createLive({ ...parts, name, readStatus: read, nowMs, build })] as const;
    };
    const lives = new Map(fleets.map(liveOf));
    const signIn = { ...parts, access, guard, isSecure: publicUrl.startsWith("https:") };
    serveSignIn(app, signIn);
    serveTicketSignIn(app, signIn);
    serveProviderSignIn(app, signIn);
    serveStream(app, { guard, lives });
    serveCalls(app, { access, guard, lives, log });
    serveViews(app, { ...parts, access, guard, fleets });
    await servePages(app, { dir, html });
  };
}

/** File names contain a hash of the content, so the content of a name never changes. */
const forever = "public, max-age=31536000, immutable";

export async function servePages(
  app: FastifyInstance,
  { dir, html }: Pick<BuiltPage, "html"> & { dir: string },
): Promise<void> {
  const sendPage = (reply: FastifyReply) =>
    reply.headers(pageHeaders).type("text/html; charset=utf-8").send(html);

  await app.register(fastifyStatic, {
    root: path.join(dir, "assets"),
    prefix: "/assets/",
    preCompressed: true,
    index: false,
    cacheControl: false,
    setHeaders: (response) => {
      response.header("cache-control", forever);
    },
  });
  app.get("/", (_request, reply) => sendPage(reply));
  app.setNotFoundHandler((request, reply) => {
    const { pathname } = new URL(request.url, "http://console");
    const isPage = request.method === "GET" && !/^\/console\/(?:api|assets)\//.test(pathname);
    if (isPage) return sendPage(reply);
    throw missing("there is nothing here");
  });
}

/** `build`: changes with every file of the page, whose names in it are hashes of their content. */
type BuiltPage = { html: string; build: string };

/** Reads the built page of a folder; its head says which build it is, so that an open page knows it of itself. */
export function readBuiltPage(dir: string): BuiltPage {
  const built = readFileSync(path.join(dir, "index.html"), "utf8");
  const build = createHash("sha256").update(built).digest("base64url").slice(0, 16);
  const html = built.replace("<head>", `<head>\n    <meta name="build" content="${build}" />`);
  return { html, build };
}

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  /** The live state of each fleet, by its name. */
  lives: ReadonlyMap<string, Live>;
  log: Log;
};

const prefix = "/vedette.v1.";

/** Pages configure nothing, and no platform notifies by a session. A call that is sent would not be answered. */
const isOffered = (role: string, path: string) =>
  role !== "configure" && role !== "notify" && !path.endsWith("/send");

/** A call that takes more than `read` also has to come from the console's own page. */
export function serveCalls(app: FastifyInstance, parts: Parts): void {
  const { access, guard, log } = parts;
  const answerPolled = createPolled();
  app.post(`/api${prefix}*`, async (request, reply) => {
    // The path is used as it is, not decoded: the allow-list is compared with nothing else.
    const url = pathOf(request);
    const path = url.slice(url.indexOf(prefix));
    const handler = access.findHandler(path);
    const isGuarded = handler !== undefined && handler.role !== "read";
    const by = await (isGuarded ? guard.requireWriter(request) : guard.requireSession(request));
    if (handler === undefined || !isOffered(handler.role, path))
      throw missing("there is nothing here");
    const { input, isWrite, blocks } = handler;
    const [, service, fleet = ""] = path.split("/");
    if (isWrite && service === rolloutServiceName) {
      const { expect, ...body } = parseBody(WithExpectation, request.body);
      const call = { path, body: parseBody(input, body), by, blocks, remote: request.ip };
      return order(parts, { call, fleet, seen: expect });
    }
    const call = { path, body: parseBody(input, request.body), by, blocks, remote: request.ip };
    if (!isWrite) return answerPolled({ request, reply }, await access.call(call));
    log.info({ actor: by.actor, path }, "ordered from the console");
    return access.call({ ...call, idempotencyKey: newKey() });
  });
}

const newKey = () => `console-${randomUUID()}`;

/** Reads the status from the rollout itself, not from what the console last showed. */
async function readStatus(
  access: ConsoleAccess,
  { by, fleet, signal }: { by: Caller; fleet: string; signal?: AbortSignal },
): Promise<RolloutStatus> {
  const call = { path: `/${rolloutServiceName}/${fleet}/Status`, body: {}, by };
  return RolloutStatus.parse(await access.call({ ...call, ...(signal && { signal }) }));
}

/** A write to the rollout names the state that the operator saw. */
const WithExpectation = z.looseObject({ expect: SeenState });

type Order = {
  call: { path: string; body: unknown; by: Caller; blocks: boolean; remote: string };
  fleet: string;
  seen: SeenState;
};

const pollEveryMs = 100;
/** A start calls the registry first, which may take long. */
const startsWithinMs = 30_000;

/** Operates the rollout. The page gets its answer as soon as a blocking operation has started. */
async function order({ access, log, lives }: Parts, { call, fleet, seen }: Order) {
  const { by, path } = call;
  const of = { by, fleet };
  requireUnchanged(await readStatus(access, of), seen);
  log.info({ actor: by.actor, path, rollout: seen.rollout_id }, "ordered from the console");
  const begun = new AbortController();
  const answered = access.call({ ...call, idempotencyKey: newKey(), signal: begun.signal });
  try {
    await Promise.race([answered, stateChange(access, { ...of, signal: begun.signal }, seen)]);
  } finally {
    // The operation continues without this call; a refusal would have arrived by now.
    answered.catch(() => {});
    begun.abort();
    lives.get(fleet)?.poll();
  }
  return { status: await readStatus(access, of) };
}

/** Refuses an operation that the operator decided on the basis of an older state. */
function requireUnchanged(now: SeenState, seen: SeenState): void {
  if (!hasChanged(now, seen)) return;
  const detail = `The rollout has changed: it is ${now.state.replace("_", " ")} now. Check the page and decide again.`;
  throw new ProblemError({ status: 409, code: "moved_on", detail });
}

function hasChanged(now: SeenState, seen: SeenState): boolean {
  return now.rollout_id !== seen.rollout_id || now.state !== seen.state;
}

/** Resolves when the rollout has left the state that was seen, after a timeout, or once nobody waits any more. */
async function stateChange(
  access: ConsoleAccess,
  of: { by: Caller; fleet: string; signal: AbortSignal },
  seen: SeenState,
): Promise<void> {
  const untilMs = performance.now() + startsWithinMs;
  while (performance.now() < untilMs && !of.signal.aborted) {
    await delay(pollEveryMs);
    if (hasChanged(await readStatus(access, of).catch(() => seen), seen)) return;
  }
}

/** In characters of JSON, of all answers. */
const mostKept = 16_000_000;
/** A page that asks more seldom gets the whole answer. */
const keptForMs = 120_000;

type AnswerPolled = (
  from: { request: FastifyRequest; reply: FastifyReply },
  answer: unknown,
) => unknown;

/** The page has the answer whose tag it sends: 226 for the changes since then, 200 for a whole answer. */
export function createPolled(): AnswerPolled {
  const answers = new LRUCache<string, object>({ maxSize: mostKept, ttl: keptForMs });
  return ({ request, reply }, answer) => {
    const known = request.headers["if-none-match"];
    if (known === undefined || typeof answer !== "object" || answer === null) return answer;
    const text = JSON.stringify(answer);
    // Of this session alone: a tag must not tell what another one was answered.
    const { cookie = "" } = request.headers;
    const hash = createHash("sha256").update(`${cookie}\n${request.url}\n${text}`);
    const tag = hash.digest("base64url").slice(0, 22);
    answers.set(tag, answer, { size: text.length });
    reply.header("etag", tag);
    const before = answers.get(known);
    return before === undefined ? answer : reply.code(226).send(findChanges(before, answer));
  };
}
