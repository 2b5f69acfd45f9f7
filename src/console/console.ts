/** The console: a page, its session, its stream of events, its reads and its writes. */

import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { z } from "zod";
import type { FleetOperators } from "#fleet/contract.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import type { Operation, RolloutStateName } from "#rollout/contract.ts";
import { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import { serveCheckOrders } from "./check-orders.ts";
import type { ConsoleAccess, ConsolePlugin } from "./contract.ts";
import { createReadSentinel, type FleetTables } from "./fleet.ts";
import { type FleetPages, serveFleetReads } from "./fleet-reads.ts";
import { createGuard, type Guard, pageHeaders } from "./guard.ts";
import { type ListApis, type ReadOutcomes, serveKeyUsage } from "./key-usage.ts";
import { createLive } from "./live.ts";
import type { Logouts } from "./logouts.ts";
import type { ReadMoment } from "./moment.ts";
import { readStatus, serveOrders } from "./orders.ts";
import { parseBody } from "./parse.ts";
import { serveProviderSignIn } from "./provider-sign-in.ts";
import { serveReads } from "./reads.ts";
import type { ReadRollouts } from "./rollouts.ts";
import { type Routing, serveRouting } from "./routing.ts";
import { serveSignIn } from "./sign-in.ts";
import { serveStream } from "./stream.ts";
import { serveTicketSignIn } from "./ticket-sign-in.ts";
import type { Tickets } from "./tickets.ts";

export type ConsoleParts = {
  logouts: Logouts;
  tickets: Tickets;
  log: Log;
  /** The built page. */
  dir: string;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
  /** The default one is the first. */
  fleets: readonly FleetOperators[];
  fleet: FleetTables["fleet"];
  rollouts: ReadRollouts & FleetTables["rollouts"];
  readMoment: ReadMoment;
  fleetPages: FleetPages;
  listApis: ListApis;
  readRouting: () => Promise<Routing>;
  /** undefined: there are no analytics to read. */
  readOutcomes: ReadOutcomes | undefined;
  bucketSecondsOf: (spanMs: number) => number;
  legalOperations: (state: RolloutStateName) => Operation[];
};

/** In whose name is read what no single operator has requested. */
const itself: Caller = { actor: "console", roles: ["read"] };

export function createConsole(parts: ConsoleParts): ConsolePlugin {
  const { logouts, log, publicUrl, legalOperations, dir } = parts;
  const { html, build } = readBuiltPage(dir);
  return (access) => async (app) => {
    const guard = createGuard(access, { logouts, publicUrl });
    const { rollouts, readMoment } = parts;
    const fleets = parts.fleets.map(({ name }) => name);
    const liveOf = (fleet: string) => {
      const read = (signal: AbortSignal) => readStatus(access, { by: itself, fleet, signal });
      const nowMs = () => performance.now();
      const of = { name: fleet, readStatus: read, readMoment, legalOperations, nowMs, log, build };
      return [fleet, createLive(of)] as const;
    };
    const lives = new Map(fleets.map(liveOf));
    const signIn = {
      fleets: parts.fleets,
      access,
      guard,
      logouts,
      log,
      isSecure: publicUrl.startsWith("https:"),
    };
    serveSignIn(app, signIn);
    serveTicketSignIn(app, { ...signIn, tickets: parts.tickets, publicUrl });
    serveProviderSignIn(app, { ...signIn, publicUrl });
    serveStream(app, { guard, lives });
    serveOrders(app, { access, guard, lives, log });
    serveReads(app, {
      access,
      guard,
      rollouts,
      readMoment,
      fleets,
      readSentinel: createReadSentinel(parts),
    });
    serveFleetReads(app, { guard, fleets, pages: parts.fleetPages });
    serveCheckOrders(app, { access, guard, log });
    serveRowOrders(app, { access, guard, log });
    serveRouting(app, { access, guard, readRouting: parts.readRouting });
    const { readOutcomes, bucketSecondsOf } = parts;
    serveKeyUsage(app, { listApis: parts.listApis, guard, readOutcomes, bucketSecondsOf });
    await servePages(app, { dir, html });
  };
}

/** File names contain a hash of the content, so the content of a name never changes. */
const forever = "public, max-age=31536000, immutable";

/** `dir`: the folder of the built page. */
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
    throw new ProblemError({ status: 404, code: "not_found", detail: "there is nothing here" });
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

type Parts = { access: ConsoleAccess; guard: Guard; log: Log };

type Input = { input: z.ZodType<{ id: string }> };
type Kind = { service: string; handlers: { Add: Input; Remove: Input } };

const kinds: Record<string, Kind> = {
  window: { service: windowsName, handlers: windowHandlers },
  pin: { service: pinsName, handlers: pinHandlers },
  promotion: { service: promotionsName, handlers: promotionHandlers },
};

const orders = { add: "Add", remove: "Remove" } as const;

/** Routes by which an operator adds and removes rows about rollouts: windows, pins and promotions. */
export function serveRowOrders(app: FastifyInstance, { access, guard, log }: Parts): void {
  for (const [kind, { service, handlers }] of Object.entries(kinds)) {
    for (const [name, handler] of Object.entries(orders)) {
      app.post(`/api/${kind}/${name}`, async (request) => {
        const by = await guard.requireWriter(request);
        const body = parseBody(handlers[handler].input, request.body);
        const path = `/${service}/${handler}`;
        log.info({ actor: by.actor, path, [kind]: body.id }, "ordered from the console");
        return access.call({ path, body, by, idempotencyKey: `console-${randomUUID()}` });
      });
    }
  }
}
