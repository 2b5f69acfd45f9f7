/** The public pages `/status.json` and `/badges/<check>.svg`. No secrets, no addresses, no reasons. */
import { drawBadge } from "./badge.ts";
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

/** The overall status is the worst one, in this order. */
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
