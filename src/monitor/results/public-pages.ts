/** The public pages `/status.json` and `/badges/<check>.svg`. No secrets, no addresses, no reasons. */
import { checkWords } from "#kernel/words.ts";
import type { CheckList, CheckView } from "./contract.ts";
import type { ViewChecks } from "./view.ts";

type PublicPage = { status: number; type: string; body: string | Buffer };

/** The page at a path; null: there is none. */
export type FindPublicPage = (path: string) => Promise<PublicPage | null>;

export function createPublicPages(viewChecks: ViewChecks): FindPublicPage {
  /** Shared by all who wait for it: it may have megabytes, and anybody may ask and not read. */
  let written: { list?: CheckList; body: Buffer } = { body: Buffer.alloc(0) };
  return async (path) => {
    if (path === "/status.json") {
      const list = await viewChecks();
      if (written.list !== list) written = { list, body: writeStatus(list) };
      return { status: 200, type: "application/json; charset=utf-8", body: written.body };
    }
    const id = /^\/badges\/([a-z0-9-]{1,200})\.svg$/.exec(path)?.[1];
    if (id === undefined) return null;
    const { checks } = await viewChecks();
    const check = checks.find((view) => view.id === id);
    if (check === undefined) return { status: 404, type: "text/plain", body: "no such check\n" };
    return { status: 200, type: "image/svg+xml; charset=utf-8", body: drawBadge(check) };
  };
}

function writeStatus({ taken_at, checks }: CheckList): Buffer {
  const status = worstOf(checks.map((check) => check.status));
  return Buffer.from(JSON.stringify({ taken_at, status, checks: checks.map(toPublic) }));
}

const bySeverity = ["failed", "silent", "late", "degraded", "pending", "paused", "ok"] as const;

function worstOf(statuses: readonly CheckView["status"][]): CheckView["status"] {
  return bySeverity.find((status) => statuses.includes(status)) ?? "pending";
}

/** Leaves out reasons: they quote answers and addresses of servers, which are for operators. */
function toPublic(check: CheckView) {
  const { id, name, kind, environment, status, since, last_at, uptime_24h, strip } = check;
  const { suppressed_by = null } = check;
  // Rounded down: never 100 for less than 100.
  const up = uptime_24h === null ? null : Math.floor(uptime_24h * 1_000) / 1_000;
  const locations = check.locations.map(({ location, status }) => ({ location, status }));
  const badge = `/badges/${id}.svg`;
  const about = { id, name, kind, environment, status, suppressed_by, since };
  const last = { last_at, last_duration_ms: check.last_duration_ms };
  return { ...about, ...last, uptime_24h: up, locations, badge, strip };
}

/** Text on each colour has a contrast of at least 4.5 to 1. */
const colours: Record<CheckView["status"], string> = {
  ok: "#1a7f37",
  degraded: "#9a6700",
  failed: "#cf222e",
  late: "#9a6700",
  silent: "#59636e",
  pending: "#59636e",
  paused: "#59636e",
};

/** An SVG of 20 pixels in height: the name on the left, the status on the right. */
function drawBadge({
  name,
  status,
  suppressed_by: by,
}: Pick<CheckView, "name" | "status" | "suppressed_by">): string {
  const word = checkWords[status];
  const text = by == null ? word : `${word} behind ${by}`;
  const left = widthOf(name);
  const right = widthOf(text);
  const label = escapeXml(`${name}: ${text}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${label}">
<title>${label}</title>
<clipPath id="r"><rect width="${left + right}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${left}" height="20" fill="#3d444d"/><rect x="${left}" width="${right}" height="20" fill="${colours[status]}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="${left / 2}" y="14" textLength="${left - 12}">${escapeXml(name)}</text>
<text x="${left + right / 2}" y="14" textLength="${right - 12}">${text}</text>
</g>
</svg>
`;
}

/** An estimate of the width in the font; `textLength` fits the text to it. */
function widthOf(text: string): number {
  return Math.round([...text].length * 6.6) + 12;
}

function escapeXml(text: string): string {
  const names: Record<string, string> = {
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
    "'": "#39",
  };
  return text.replace(/[&<>"']/g, (character) => `&${names[character]};`);
}
