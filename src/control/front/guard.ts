/** Decides by method, path and headers which requests may reach Restate's own ports. */
import type { IncomingHttpHeaders } from "node:http";

export type FrontRequest = { method: string; path: string; headers: IncomingHttpHeaders };

export type Refusal = { status: 403 | 405 | 421; detail: string };

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Refuses what a foreign page could send: by another host name (DNS rebinding), or from another origin. */
export function refuseForeign(request: FrontRequest): Refusal | undefined {
  const { host, origin } = request.headers;
  const site = request.headers["sec-fetch-site"];
  if (!loopbackNames.has(hostNameOf(host))) {
    return { status: 421, detail: "use 127.0.0.1 or localhost as the host" };
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`.toLowerCase()) {
    return { status: 403, detail: "pages of other origins may not call Restate" };
  }
  const isOwnPage = site === undefined || site === "same-origin" || site === "none";
  if (!isOwnPage && !isLinkToConsole(request)) {
    return { status: 403, detail: "pages of other origins may not call Restate" };
  }
  return undefined;
}

/** A link on another site may open the console: that changes nothing, and no site can frame it. */
function isLinkToConsole({ method, path, headers }: FrontRequest): boolean {
  const isPage = path === "/" || path.startsWith("/ui/") || path === "/ui";
  const isVisit = headers["sec-fetch-mode"] === "navigate";
  return method === "GET" && isPage && isVisit && headers["sec-fetch-dest"] === "document";
}

/** The reads of Restate's ingress: its health, and the outcome of calls. */
const reads =
  /^\/(?:openapi|restate\/(?:health|lookup|(?:attach|output)\/.+|(?:invocation|workflow)\/.+\/(?:attach|output)))$/;

/** Restate accepts calls by GET, which an image in a page could make: GET is allowed for reads only. */
export function refuseCallByGet({ method, path }: FrontRequest): Refusal | undefined {
  const isByGet = method === "GET" || method === "HEAD";
  if (!isByGet || reads.test(path)) return undefined;
  return { status: 405, detail: "use POST" };
}

function hostNameOf(host: string | undefined): string {
  return (host ?? "").toLowerCase().replace(/:\d{1,5}$/, "");
}
