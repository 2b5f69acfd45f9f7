/**
 * The reference page, shown by Scalar's viewer from this server alone. The viewer is some megabytes
 * of script: it is loaded at the first request of the page, not at the program's start.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { fastify } from "fastify";

export type Viewer = {
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
export function viewerPolicy(nonce: string): string {
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

export async function loadViewer(): Promise<Viewer> {
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
