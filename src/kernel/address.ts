/** Parses and compares addresses of hosts and of URLs. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** True if `address` is one of `entries`: addresses, or ranges such as 10.0.0.0/8. */
export function isListed(entries: readonly string[], address: string): boolean {
  const family = familyOf(address);
  if (family === undefined) return false;
  return listOf(entries).check(address, family);
}

/** True if a list's entry is an address, or a range with a valid prefix length. */
export function isNetwork(entry: string): boolean {
  const [address = "", bits, ...rest] = entry.split("/");
  const family = familyOf(address);
  if (family === undefined || rest.length > 0) return false;
  return bits === undefined || isPrefix(bits, family);
}

const lists = new WeakMap<readonly string[], BlockList>();

function listOf(entries: readonly string[]): BlockList {
  const known = lists.get(entries);
  if (known !== undefined) return known;
  const list = new BlockList();
  for (const entry of entries) add(list, entry.trim());
  lists.set(entries, list);
  return list;
}

function add(list: BlockList, entry: string): void {
  const [address = "", bits] = entry.split("/", 2);
  const family = familyOf(address);
  // An invalid entry matches no address, rather than every address.
  if (family === undefined) return;
  if (bits === undefined) list.addAddress(address, family);
  else if (isPrefix(bits, family)) list.addSubnet(address, Number(bits), family);
}

function isPrefix(bits: string, family: "ipv4" | "ipv6"): boolean {
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === "ipv4" ? 32 : 128);
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? "ipv4" : "ipv6";
}

/** An address of `X-Forwarded-For`, without the brackets and the port that it may have there. */
export function bareAddress(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^[\d.]+:\d+$/.test(text) ? (text.split(":", 1)[0] as string) : text;
}

type Request = Pick<IncomingMessage, "headers"> & {
  socket: { remoteAddress?: string | undefined };
};

/** The addresses that `X-Forwarded-For` names, and then the peer's own; each hop may have written those before it. */
export function hopsOf({ headers, socket }: Request): string[] {
  const peer = (socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=[\d.]+$)/i, "");
  const named = [headers["x-forwarded-for"] ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
  return [...named, peer];
}

/** The last of the hops that is not a trusted proxy: any client can have written those before it. */
export function clientOf(hops: readonly string[], trustedProxies: readonly string[]): string {
  const addresses = hops.map(bareAddress);
  const client = addresses.findLast((address) => !isListed(trustedProxies, address));
  return client ?? addresses[0] ?? "unknown";
}

/** The URL of a server at a host and port. An IPv6 host is put in brackets. */
export function httpUrl({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** True if a URL's host is a loopback address (RFC 8252, 7.3) or the name of one. */
export function isLoopback(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, "");
  return hostname === "localhost" || isListed(loopback, address);
}

const loopback = ["127.0.0.0/8", "::1"];

const unspecified = ["0.0.0.0", "::"];

/** True if a URL's host is this machine; an IPv6 host may be in brackets. */
export function isThisMachine(hostname: string): boolean {
  return isLoopback(hostname) || isListed(unspecified, hostname.replace(/^\[|\]$/g, ""));
}

export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.map((one) => one.address));
}

const usualPorts: Readonly<Record<string, number>> = {
  ...{ "http:": 80, "https:": 443, "smtp:": 587, "smtps:": 465 },
  ...{ "redis:": 6379, "rediss:": 6379 },
};

/** The port of a URL, or the usual one of its protocol; 0: it has none that is known. */
export function portOf({ port, protocol }: { port: string; protocol: string }): number {
  return Number(port || usualPorts[protocol] || 0);
}

/** Describes the fault of an address that people write, without quoting it: it may have a secret. */
export type WantedUrl = {
  /** Schemes without `://`; absent: any, as Postgres' client takes them. */
  schemes?: readonly string[];
  example: string;
  /** Advice instead of a user or password in it; absent: it may have them. */
  insteadOfUser?: string | undefined;
  /** True if paths are added to it, so that it may have no query. */
  isBase?: boolean;
};

export const httpSchemes = ["https", "http"] as const;

/** One of http to which paths are added. */
export const baseUrl = (example: string, insteadOfUser?: string): WantedUrl => ({
  ...{ schemes: httpSchemes, example, insteadOfUser, isBase: true },
});

/** Replaces each `{{NAME}}` of a secret by a letter. */
export const fillPlaceholders = (text: string) => text.replace(/\{\{[^{}]*\}\}/g, "x");

/** undefined: nothing. The first of several faults, since one often makes the next. */
export function findUrlFault(given: string, wanted: WantedUrl): string | undefined {
  if (given === "") return `is empty: give an address such as ${wanted.example}`;
  return textFaultOf(given) ?? partFaultOf(given, wanted) ?? unreadable(given, wanted);
}

function textFaultOf(given: string): string | undefined {
  if (given.trim() !== given) return "begins or ends with a blank or a line end: remove it";
  if (/[\s\p{Cc}]/u.test(given)) return "has a blank or a line end in it: a blank is written %20";
  if (given.includes("\\")) return "has a backslash: write / or %5C";
  return given.includes("#") ? "has a #, after which nothing counts: write it as %23" : undefined;
}

function partFaultOf(given: string, wanted: WantedUrl): string | undefined {
  const { schemes, insteadOfUser, isBase, example } = wanted;
  const [, scheme, authority = "", rest = ""] =
    /^([a-z][a-z\d+.-]*):\/\/([^/?]*)(.*)$/i.exec(given) ?? [];
  if (scheme === undefined) return `has to be a whole address such as ${example}`;
  if (schemes?.includes(scheme.toLowerCase()) === false) {
    return `has to begin with ${schemes.map((one) => `${one}://`).join(" or ")}`;
  }
  if (/^[a-z]+:?$/i.test(authority) && rest.startsWith("//")) return "has two schemes: leave one";
  const user = /^.*@/.exec(authority)?.[0] ?? "";
  if (user !== "" && insteadOfUser) return `has a user or a password: ${insteadOfUser}`;
  if (isBase && rest.includes("?")) return "has a ?, and paths are added to it: leave it out";
  // With digits before the slash it would be a host and a port.
  const isSplit = user === "" && !/^http/i.test(scheme) && /^[^?]*@/.test(rest);
  return isSplit ? splitPassword : hostFaultOf(authority.slice(user.length), scheme, rest);
}

function hostFaultOf(host: string, scheme: string, rest: string): string | undefined {
  // Postgres may be at a socket, and Redis on this machine.
  if (host === "" && !/^(?:postgres|redis)/i.test(scheme)) return "names no host";
  if (/^[^[,]*:[^[,]*:/.test(host)) {
    return "has an address of IPv6 without brackets: write it as [2001:db8::1]";
  }
  const port = /:([^\]:]*)$/.exec(host)?.[1] ?? "";
  if (/^\d*$/.test(port) && Number(port) <= 65_535) return undefined;
  return rest.includes("@") ? splitPassword : "has a port that is no number from 0 to 65535";
}

const splitPassword = "has a / or ? in its password: write them as %2F and %3F";

function unreadable(given: string, { example }: WantedUrl): string | undefined {
  const isRead = URL.canParse(given.replace(/^(postgres\w*:\/\/[^/]*@)\//i, "$1localhost/"));
  return isRead ? undefined : `is no address such as ${example}`;
}
