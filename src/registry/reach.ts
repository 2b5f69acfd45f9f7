/**
 * Which addresses the image gate connects to. Whoever may start a rollout names a registry, and that
 * names others: none of them may make us ask this machine's own services, or the one that hands out the
 * machine's credentials, unless the settings name the host.
 */
import { type LookupAddress, type LookupOptions, lookup as resolve } from "node:dns";
import { Agent, type Dispatcher } from "undici";
import { isListed } from "#kernel/address.ts";
import { refuse } from "./refusal.ts";

export type Reach = {
  /** The way to a host. Throws a `ProblemError` (image_not_allowed) for an address that is closed. */
  dispatcherFor: (address: URL) => Dispatcher;
};

export type ReachLimits = { timeoutMs: number; largestAnswer: number };

/** Hosts and host:port, as they stand in the settings; without a port it is every port of the host. */
export function createReach(named: readonly string[], limits: ReachLimits): Reach {
  const { timeoutMs: timeout, largestAnswer: maxResponseSize } = limits;
  const open = new Agent({ connect: { timeout }, maxResponseSize });
  // Judged as the connection is made: a name may lead elsewhere each time that it is asked for.
  const guarded = new Agent({ connect: { timeout, lookup: lookupOpen }, maxResponseSize });
  return {
    dispatcherFor(address) {
      if (named.includes(address.host) || named.includes(address.hostname)) return open;
      // A name that is an address is never looked up.
      if (isClosed(address.hostname.replace(/^\[|\]$/g, ""))) throw refuseClosed(address.host);
      return guarded;
    },
  };
}

/** Whether this error says that a name leads to a closed address. */
export function isClosedError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === closedCode;
}

export function refuseClosed(host: string) {
  const detail = `${host} is an address of this machine or of its surroundings, which are not asked`;
  const hint = "name the host in registry.allowed, registry.insecure or registry.token_hosts";
  return refuse("image_not_allowed", `${detail}; ${hint} if it is right`);
}

const closedCode = "ERR_CLOSED_ADDRESS";

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

function lookupOpen(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, []);
    if (addresses.some(({ address }) => isClosed(address))) {
      return callback(Object.assign(new Error("closed address"), { code: closedCode }), []);
    }
    if (options.all === true) return callback(null, addresses);
    const [first] = addresses;
    callback(null, first?.address ?? "", first?.family);
  });
}

const closedRanges = [
  // This machine (RFC 1122, RFC 4291) and "this network", which leads to it as well.
  "127.0.0.0/8",
  "0.0.0.0/8",
  // Also as IPv4 in IPv6 that is no longer used, or only inside of one machine.
  "::/96",
  "::ffff:0:0:0/96",
  // Link-local, where clouds hand out a machine's credentials (RFC 3927, RFC 4291).
  "169.254.0.0/16",
  "fe80::/10",
  // Nobody in particular: multicast and broadcast.
  "224.0.0.0/3",
  "ff00::/8",
  // The same of IPv4 behind NAT64 (RFC 6052).
  "64:ff9b::7f00:0/104",
  "64:ff9b::a9fe:0/112",
  // NAT64 of one's own network (RFC 8215), and 6to4 of the addresses above (RFC 3056).
  "64:ff9b:1::/48",
  "2002:7f00::/24",
  "2002:a9fe::/32",
  // Clouds whose metadata is elsewhere: Amazon's, Google's and Scaleway's over IPv6, Alibaba, Oracle,
  // Azure's host.
  "fd00:ec2::/112",
  "fd20:ce::254/128",
  "fd00:42::42/128",
  "100.100.100.200/32",
  "192.0.0.192/32",
  "168.63.129.16/32",
];

/** False for what is no address. IPv4 written as IPv6 is judged as IPv4. */
export function isClosed(address: string): boolean {
  return isListed(closedRanges, address.replace(/%.*$/, ""));
}
