/** The API's own documentation: its OpenAPI description, its reference page, and a page per error. */
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Procedures } from "#api/procedure.ts";
import { errorIndex, errorPage, pagePolicy } from "./html.ts";
import { describeApi } from "./openapi.ts";
import { loadViewer, type Viewer, viewerPolicy } from "./viewer.ts";

const safetyHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** The script changes with the program only. */
const scriptLifetimeSeconds = 3_600;

export function mountDocs(app: FastifyInstance, namespaces: Record<string, Procedures>): void {
  let description: Buffer | undefined;
  app.get("/v2/openapi.json", async (_, reply) => {
    description ??= Buffer.from(JSON.stringify(describeApi(namespaces)));
    return reply.headers(safetyHeaders).type("application/json").send(description);
  });
  mountErrorPages(app);
  mountViewer(app);
}

function mountErrorPages(app: FastifyInstance): void {
  app.get("/docs/errors", async (_, reply) => sendPage(reply, errorIndex(), pagePolicy));
  app.get<{ Params: { "*": string } }>("/docs/errors/*", async (request, reply) => {
    const html = errorPage(request.params["*"]);
    return html === undefined ? reply.callNotFound() : sendPage(reply, html, pagePolicy);
  });
}

function mountViewer(app: FastifyInstance): void {
  let loading: Promise<Viewer> | undefined;
  let unpacking: Promise<Buffer> | undefined;
  const viewer = () => {
    loading ??= loadViewer().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  app.get("/", async (_, reply) => reply.redirect("/docs/"));
  app.get("/docs", async (_, reply) => reply.redirect("/docs/"));
  app.get("/docs/", async (_, reply) => {
    const nonce = randomBytes(16).toString("base64");
    return sendPage(reply, (await viewer()).page(nonce), viewerPolicy(nonce));
  });
  app.get("/docs/js/scalar.js", async (request, reply) => {
    const { script } = await viewer();
    reply
      .headers({ ...safetyHeaders, vary: "accept-encoding" })
      .header("cache-control", `public, max-age=${scriptLifetimeSeconds}`)
      .type("text/javascript; charset=utf-8");
    const takesGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    if (takesGzip) return reply.header("content-encoding", "gzip").send(script);
    // Unpacked once, for all clients without gzip.
    unpacking ??= promisify(gunzip)(script);
    return reply.send(await unpacking);
  });
}

function sendPage(reply: FastifyReply, html: string, policy: string): FastifyReply {
  return reply
    .headers({ ...safetyHeaders, "content-security-policy": policy })
    .type("text/html; charset=utf-8")
    .send(html);
}
