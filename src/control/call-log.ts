/** The log lines about calls. */
import { clientOf, hopsOf } from "#kernel/address.ts";
import type { Log } from "#kernel/log.ts";
import { findRoute } from "./routes.ts";

export type Call = {
  requestId: string;
  /** The path without its query. */
  path: string;
  status: number;
  /** True if the caller has been sent the whole response. */
  isSent: boolean;
  remote: string;
  durationMs: number;
  actor?: string | undefined;
};

/** Writes and refused callers are logged by default; reads only at level debug. */
export function recordCall(log: Log, call: Call): void {
  const { requestId, status, isSent, remote, actor } = call;
  const path = loggedPath(call.path);
  const fields = { requestId, path, status, remote, ...(actor !== undefined && { actor }) };
  const durationMs = Math.round(call.durationMs);
  if (status === 401) log.warn(fields, "caller without a valid token");
  else if (status === 403 && actor !== undefined) log.warn(fields, "call not allowed");
  else if (!isSent) log.info({ ...fields, durationMs }, "caller went away");
  else if (findRoute(path)?.isWrite === true) log.info({ ...fields, durationMs }, "call answered");
  else log.debug({ ...fields, durationMs }, "call answered");
}

/** Anybody may send one of 16 kB. A ping URL contains its token, also when the URL is misspelt. */
export const loggedPath = (path: string) => path.slice(0, 200).replace(/[\w-]{40,}/g, "***");

/** The caller's address, without the port and the prefix of IPv4 in IPv6 that it may be written with. */
export function remoteOf(
  request: Parameters<typeof hopsOf>[0],
  trustedProxies: readonly string[],
): string {
  return clientOf(hopsOf(request), trustedProxies);
}
