/**
 * Restricts the addresses that this program connects to for others: for checks, channels, registries and identity
 * providers. None of them may lead us to our own services, or to the cloud's metadata service, which hands out
 * credentials (prevents SSRF). An address is judged when a connection to it is opened, and is then the one that is
 * used: a name may resolve to another one each time.
 */
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { z } from "zod";
import { isListed, isLoopback, isThisMachine, ownAddresses, portOf } from "./address.ts";
import { Agent, buildConnector } from "./http.ts";

/** A server of this installation, to which only its own parts connect. `host`: as in the settings. */
export const OwnService = z.object({ name: z.string(), host: z.string(), port: z.int() });
export type OwnService = z.infer<typeof OwnService>;

/** The message says why, and has no address; the cause is our own service that is there, if one is. */
export class ClosedAddressError extends Error {}

type Terms = {
  /** Read at each connection. */
  services?: readonly OwnService[];
  /** Closed besides them. */
  closed?: readonly Network[];
  /** Hosts, or host:port, for which only `closedIfNamed` is closed; by default metadata. */
  named?: () => readonly string[];
  closedIfNamed?: readonly Network[];
};

export type Reach = ReturnType<typeof createReach>;

export function createReach(terms: Terms = {}) {
  const { services = [], closed = ["metadata"], named = () => [] } = terms;
  const { closedIfNamed = ["metadata"] } = terms;
  const findService = createFindService(services);
  const requireOpen = async (address: string, port: number, networks: readonly Network[]) => {
    const cause = await findService(address, port);
    const own = cause && `one of Vedette's own services (${cause.name})`;
    const what = own ?? describeClosed(address, networks);
    if (what === undefined) return;
    throw new ClosedAddressError(`the address is ${what}, to which we do not connect`, { cause });
  };
  /** The addresses of a host, in the order in which to try them. Throws `ClosedAddressError` if one of them is closed. */
  const resolve = async (hostname: string, port: number): Promise<LookupAddress[]> => {
    const host = withoutBrackets(hostname);
    const family = isIP(host);
    const known = family === 0 ? await lookup(host, { all: true }) : [{ address: host, family }];
    const found = known.slice(0, mostAddresses);
    const written = family === 6 ? `[${host}]` : host;
    const isNamed = named().some((one) => one === written || one === `${written}:${port}`);
    const networks = isNamed ? closedIfNamed : closed;
    for (const { address } of found) await requireOpen(address.replace(/%.*$/, ""), port, networks);
    return found;
  };
  const agent = new Agent({
    connect: (options, callback) => {
      const port = portOf(options);
      resolve(options.hostname, port).then(
        (found) => buildConnector({ ...pinnedTo(found), allowH2: false })(options, callback),
        (error: Error) => callback(error, null),
      );
    },
  });
  return { resolve, agent };
}

/** A name may have thousands, which take seconds to judge; others are not connected to. */
const mostAddresses = 50;

/** Connects to the first of the addresses that answers. */
export async function connectTo(
  found: LookupAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  // A host that is no address, so that those are asked for.
  const socket = connect({ host: "judged", port, signal, ...pinnedTo(found) });
  socket.setNoDelay(true);
  // `once` reports an error to its caller; one that occurs after that must not end the process.
  socket.on("error", () => {});
  await once(socket, "connect", { signal });
  return socket;
}

/** All addresses are tried in turn, as a browser does. */
function pinnedTo(found: LookupAddress[]) {
  const pinned: LookupFunction = (_hostname, _options, callback) => callback(null, found);
  return { autoSelectFamily: true, lookup: pinned };
}

/** The server at a URL; none for one without a port that is known, and at port 0, which stands for any. */
export function serviceAt(name: string, url: string): OwnService[] {
  const address = URL.parse(url);
  const port = address === null ? 0 : portOf(address);
  return address === null || port === 0
    ? []
    : [{ name, host: withoutBrackets(address.hostname), port }];
}

/** Adds the addresses at which other machines reach a server that listens at all of a machine's addresses. */
export function seenFromElsewhere(services: readonly OwnService[], host?: string): OwnService[] {
  const own = ownAddresses().filter(
    (one) => describeClosed(one, ["metadata", "loopback"]) === undefined,
  );
  // A machine that balances loads may have thousands.
  const hosts = host === undefined ? own.slice(0, 20) : [withoutBrackets(host)];
  return services.flatMap((one) =>
    isThisMachine(one.host) && !isLoopback(one.host)
      ? [one, ...hosts.map((at) => ({ ...one, host: at }))]
      : one,
  );
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

function createFindService(services: readonly OwnService[]) {
  /** All that were ever seen: a name with many addresses has a few of them at a time. */
  const seen = new Map<string, Set<string>>();
  const addressesOf = async (host: string) => {
    const found = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : [];
    const known = seen.get(host) ?? new Set([host]);
    seen.set(host, known);
    for (const { address } of found) known.add(address);
    return [...known];
  };
  return async (address: string, port: number): Promise<OwnService | undefined> => {
    for (const service of services.filter((one) => one.port === port)) {
      const addresses = await addressesOf(service.host);
      const isThere = isListed(withEmbedded(addresses), address);
      if (isThere || (isHere(address) && addresses.some(isHere))) return service;
    }
    return undefined;
  };
}

/** True if an address is this machine's: a server that listens here may do so at all of them. */
function isHere(address: string): boolean {
  return isThisMachine(address) || isListed(withEmbedded(ownAddresses()), address);
}

/** `metadata`: with link-local addresses, and those of no host. */
export type Network = "metadata" | "loopback" | "private";

/** undefined: the address is in none of the networks. */
export function describeClosed(address: string, networks: readonly Network[]): string | undefined {
  // Unspecified addresses lead to this machine.
  if (isThisMachine(address)) return networks.includes("loopback") ? "of loopback" : undefined;
  const isIn = (network: Network, ranges: string[]) =>
    networks.includes(network) && isListed(ranges, address);
  if (isIn("metadata", metadataRanges)) return "a link-local or metadata address";
  return isIn("private", privateRanges) ? "of a private network" : undefined;
}

/** Adds IPv6 addresses that stand for IPv4: of NAT64 (RFC 6052) and 6to4 (RFC 3056); IPv4-mapped ones need no range. */
function withEmbedded(ranges: readonly string[]): string[] {
  return ranges.flatMap((range) => {
    const [address = "", bits = 32] = range.split("/");
    if (isIP(address) !== 4) return range;
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
    const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    return [range, `64:ff9b::${address}/${96 + +bits}`, `2002:${hex}::/${16 + +bits}`];
  });
}

const metadataRanges = [
  // Link-local, where clouds hand out a machine's credentials (RFC 3927, RFC 4291).
  ...withEmbedded(["169.254.0.0/16", "fe80::/10"]),
  // "This network", multicast, reserved and broadcast.
  ...withEmbedded(["0.0.0.0/8", "224.0.0.0/3", "ff00::/8"]),
  // Metadata services at other addresses: of Alibaba and Oracle, and Azure's host.
  ...withEmbedded(["100.100.100.200", "192.0.0.192", "168.63.129.16"]),
  // Over IPv6: of Amazon, Google and Scaleway; of Oracle, Akamai and Alibaba.
  ...["fd00:ec2::/32", "fd20:ce::254", "fd00:42::42"],
  ...["fd00:c1::a9fe:a9fe", "fd00:a9fe:a9fe::/64", "fd00:100::100:200"],
  // IPv4-compatible and IPv4-translated IPv6 and Teredo, which are obsolete; NAT64 of the local network (RFC 8215).
  ...["::/96", "::ffff:0:0:0/96", "2001::/32", "64:ff9b:1::/48"],
  // Loopback of others.
  ...withEmbedded(["127.0.0.0/8"]),
];

/**
 * RFC 1918 and RFC 6598; RFC 4193, and site-local, which is obsolete. Then what IANA's registries of special-purpose
 * addresses have besides that is not of the internet, and may be routed at home: of protocols, benchmarks, documentation,
 * 6to4's relays, and nowhere; and segments of routing.
 */
const privateRanges = [
  ...withEmbedded(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]),
  ...["fc00::/7", "fec0::/10"],
  ...withEmbedded(["192.0.0.0/24", "198.18.0.0/15", "192.88.99.0/24"]),
  ...withEmbedded(["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]),
  ...["2001::/23", "2001:db8::/32", "3fff::/20", "100::/64", "100:0:0:1::/64", "5f00::/16"],
];
