/**
 * Restricts the addresses that the image gate connects to. The caller of a rollout names a registry, and that
 * names further hosts: none of them may lead us to services of this machine or to the cloud's metadata
 * service, which hands out credentials, unless the settings name the host (prevents SSRF).
 */
import { type LookupAddress, type LookupOptions, lookup as resolve } from "node:dns";
import { isListed } from "#kernel/address.ts";
import { Agent, type Dispatcher } from "#kernel/http.ts";
import { refuse } from "./refusal.ts";

export type Reach = {
  /** The dispatcher for a host. Throws a `ProblemError` (image_not_allowed) for a closed address. */
  dispatcherFor: (address: URL) => Dispatcher;
};

export type ReachLimits = { timeoutMs: number; largestAnswer: number };

/** `named`: host or host:port as in the settings; a host without a port stands for all its ports. */
export function createReach(named: readonly string[], limits: ReachLimits): Reach {
  const { timeoutMs: timeout, largestAnswer: maxResponseSize } = limits;
  const open = new Agent({ connect: { timeout }, maxResponseSize });
  // Checks when it connects, because a name may resolve to another address each time.
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
  const detail = `${host} has a loopback, link-local or metadata address, to which we do not connect`;
  const hint = "name the host in registry.allowed, registry.insecure or registry.token_hosts";
  return refuse("image_not_allowed", `${detail}; ${hint} if that is intended`);
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
  // Loopback (RFC 1122, RFC 4291) and "this network", which also leads to this machine.
  "127.0.0.0/8",
  "0.0.0.0/8",
  // IPv4-compatible and IPv4-translated IPv6, which are obsolete or used inside of one machine only.
  "::/96",
  "::ffff:0:0:0/96",
  // Link-local, where clouds hand out a machine's credentials (RFC 3927, RFC 4291).
  "169.254.0.0/16",
  "fe80::/10",
  // Multicast and broadcast.
  "224.0.0.0/3",
  "ff00::/8",
  // IPv4 loopback and link-local behind NAT64 (RFC 6052).
  "64:ff9b::7f00:0/104",
  "64:ff9b::a9fe:0/112",
  // NAT64 of the local network (RFC 8215), and 6to4 of loopback and link-local (RFC 3056).
  "64:ff9b:1::/48",
  "2002:7f00::/24",
  "2002:a9fe::/32",
  // Metadata services at other addresses: Amazon, Google and Scaleway over IPv6, Alibaba, Oracle, and
  // Azure's host.
  "fd00:ec2::/112",
  "fd20:ce::254/128",
  "fd00:42::42/128",
  "100.100.100.200/32",
  "192.0.0.192/32",
  "168.63.129.16/32",
];

/** False for what is not an address. IPv4-mapped IPv6 is checked as IPv4. */
export function isClosed(address: string): boolean {
  return isListed(closedRanges, address.replace(/%.*$/, ""));
}
