/** Which targets need no network: those on this machine. */
import { isLoopback } from "#kernel/address.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { addressOf } from "./request.ts";

/** Whether a target of the check is on this machine: what it says holds without a network, too. */
export function isNearby(check: RunnableCheck, baseUrl: string): boolean {
  return hostsOf(check, baseUrl).some((host) => isLoopback(host) || host.endsWith(".localhost"));
}

function hostsOf(check: RunnableCheck, baseUrl: string): string[] {
  switch (check.kind) {
    case "tcp":
    case "tls":
      return [check.host];
    case "dns":
      return check.servers.map((server) => hostOf(`dns://${server}`));
    case "steps":
      return check.steps.map((step) => hostOf(addressOf(step, baseUrl)));
    default:
      return [hostOf(addressOf(check, baseUrl))];
  }
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : "";
}
