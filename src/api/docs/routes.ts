/** The API's own documentation: its OpenAPI description, its reference page, and a page per error. */
import { createHash, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import { type ErrorCode, errorCatalogue } from "#api/error.ts";
import type { Procedures } from "#api/procedure.ts";
import { errorPages } from "./error-pages.ts";
import { describeApi } from "./openapi.ts";

/** Pages without scripts. */
const style = `
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #8884; padding: 0.4rem 0.75rem 0.4rem 0; vertical-align: top; }
a { color: inherit; }
.status { opacity: 0.7; }
`;

/** Allows nothing but our own style sheet. */
const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page that an error's `type` links to; undefined when there is no such error. */
function errorPage(code: string): string | undefined {
  if (!isErrorCode(code)) return undefined;
  const [status, title] = errorCatalogue[code];
  const { means, remedy } = errorPages[code];
  return page(
    title,
    `<p class="status">Status ${status} · <code>${escapeText(code)}</code></p>
<h1>${escapeText(title)}</h1>
<p>${prose(means)}</p>
<h2>What to do</h2>
<p>${prose(remedy)}</p>
<p><a href="/docs/errors">All errors</a> · <a href="/docs/">API reference</a></p>`,
  );
}

function errorIndex(): string {
  const rows = Object.entries(errorCatalogue).map(([code, [status]]) => {
    const { means } = errorPages[code as ErrorCode];
    const link = `<a href="/docs/errors/${escapeText(code)}"><code>${escapeText(code)}</code></a>`;
    return `<tr><td>${status}</td><td>${link}<br>${prose(means)}</td></tr>`;
  });
  return page(
    "Errors",
    `<h1>Errors</h1>
<p>Every refusal has <code>error.type</code>, the address of one of these pages.</p>
<table>${rows.join("\n")}</table>
<p><a href="/docs/">API reference</a></p>`,
  );
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)} · Vedette public API</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Text in which `backticks` are code. */
function prose(text: string): string {
  return escapeText(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

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

/** The reference page by Scalar's viewer, from this server alone. Loaded at its first request: it is some megabytes. */
type Viewer = {
  /** The page; its one inline script carries `nonce`. */
  page: (nonce: string) => string;
  /** The viewer itself, compressed by gzip. */
  script: Buffer;
};

const prefix = "/docs";
const nonceMark = "NONCE-OF-THE-ANSWER";

/** All features of the viewer that would call another host are off; a test in a browser proves it. */
const configuration = {
  url: "/v2/openapi.json",
  pageTitle: "Vedette public API",
  nonce: nonceMark,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  persistAuth: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  operationTitleSource: "path",
  authentication: { preferredSecurityScheme: "rootKey" },
} as const;

/** The viewer has many inline styles and changes them at run time: only styles may be inline. */
function viewerPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

async function loadViewer(): Promise<Viewer> {
  const { default: reference } = await import("@scalar/fastify-api-reference");
  // A server that does not listen: its plugin's page and script are requested once.
  const source = fastify();
  await source.register(reference, { routePrefix: prefix, configuration });
  const html = (await source.inject(`${prefix}/`)).body;
  const script = (await source.inject(`${prefix}/js/scalar.js`)).rawPayload;
  await source.close();
  // Without it a browser requests /favicon.ico.
  const withoutIcon = html.replace("<head>", '<head><link rel="icon" href="data:,">');
  return {
    page: (nonce) => withoutIcon.replaceAll(nonceMark, nonce),
    script: await promisify(gzip)(script),
  };
}
