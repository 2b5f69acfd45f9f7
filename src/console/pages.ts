/** Serves the built page: its files, and the page itself at every other address below /console. */
import path from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ProblemError } from "#kernel/problem.ts";
import type { BuiltPage } from "./built-page.ts";
import { pageHeaders } from "./guard.ts";

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
