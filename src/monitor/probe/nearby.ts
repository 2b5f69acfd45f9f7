/** Which targets need no network: those on this machine. */
import { BlockList, isIP } from "node:net";
import type { RunnableCheck } from "#monitor/contract.ts";
import { addressOf } from "./request.ts";

/** Whether a target of the check is on this machine: what it says holds without a network, too. */
export function isNearby(check: RunnableCheck, baseUrl: string): boolean {
  return hostsOf(check, baseUrl).some(isLoopback);
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
  if (!URL.canParse(address)) return "";
  return new URL(address).hostname.replace(/^\[(.*)\]$/, "$1");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const version = isIP(host);
  return version !== 0 && loopback.check(host, version === 4 ? "ipv4" : "ipv6");
}
