/** The console: a page, its session, its stream of events, its reads and its writes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { ConsolePlugin } from "#console/contract.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import type { Log } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import type { Operation, RolloutStateName } from "#rollout/contract.ts";
import { readStatus, serveCalls } from "./calls.ts";
import { createGuard, missing, pageHeaders } from "./guard.ts";
import { createLive, serveStream } from "./live.ts";
import { serveProviderSignIn } from "./provider-sign-in.ts";
import { serveSignIn, serveTicketSignIn } from "./sign-in.ts";
import type { Logouts, Tickets } from "./stored.ts";
import { serveViews, type ViewSources } from "./views.ts";

export type ConsoleParts = ViewSources & {
  logouts: Logouts;
  tickets: Tickets;
  log: Log;
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
