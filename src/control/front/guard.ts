/** Which requests may pass to Restate's own ports, decided on their headers alone. */
import type { IncomingHttpHeaders } from "node:http";

export type FrontRequest = { method: string; path: string; headers: IncomingHttpHeaders };

export type Refusal = { status: 403 | 405 | 421; detail: string };

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Refuses what a web page of somebody else could send: under a name that is not this machine's (a name
 * that was pointed here after the page was loaded), or from another origin than the console's own.
 */
export function refuseForeign(request: FrontRequest): Refusal | undefined {
  const { host, origin } = request.headers;
  const site = request.headers["sec-fetch-site"];
  if (!loopbackNames.has(hostNameOf(host))) {
    return { status: 421, detail: "ask for this at 127.0.0.1 or localhost" };
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`.toLowerCase()) {
    return { status: 403, detail: "pages of other addresses may not ask Restate" };
  }
  const isOwnPage = site === undefined || site === "same-origin" || site === "none";
  if (!isOwnPage && !isLinkToConsole(request)) {
    return { status: 403, detail: "pages of other addresses may not ask Restate" };
  }
  return undefined;
}

/** A link elsewhere may open the console: opening it changes nothing, and nobody can frame it. */
function isLinkToConsole({ method, path, headers }: FrontRequest): boolean {
  const isPage = path === "/" || path.startsWith("/ui/") || path === "/ui";
  const isVisit = headers["sec-fetch-mode"] === "navigate";
  return method === "GET" && isPage && isVisit && headers["sec-fetch-dest"] === "document";
}

/** What Restate's ingress has to read: its health, and what became of calls. */
const reads =
  /^\/(?:openapi|restate\/(?:health|lookup|(?:attach|output)\/.+|(?:invocation|workflow)\/.+\/(?:attach|output)))$/;

/** Restate takes a GET for a call, which an image in a page could make: only its own reads are left. */
export function refuseCallByGet({ method, path }: FrontRequest): Refusal | undefined {
  const isByGet = method === "GET" || method === "HEAD";
  if (!isByGet || reads.test(path)) return undefined;
  return { status: 405, detail: "use POST" };
}

/**
 * Whether a request without a token may count as that of a program of this user: no browser, which
 * would carry it for a page, and no proxy, which would carry it for somebody else.
 */
export function isPlainProgram({ headers }: FrontRequest): boolean {
  const marks = [
    "origin",
    "referer",
    "cookie",
    "sec-fetch-site",
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
  ];
  if (marks.some((name) => headers[name] !== undefined)) return false;
  return !/mozilla/i.test(headers["user-agent"] ?? "");
}

function hostNameOf(host: string | undefined): string {
  return (host ?? "").toLowerCase().replace(/:\d{1,5}$/, "");
}
