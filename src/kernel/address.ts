/** Internet addresses: lists of them, and how a header writes one. */
import { BlockList, isIP } from "node:net";

/** Whether `address` is one of `entries`: addresses, or ranges such as 10.0.0.0/8. */
export function isListed(entries: readonly string[], address: string): boolean {
  const family = familyOf(address);
  if (family === undefined) return false;
  return listOf(entries).check(address, family);
}

/** Whether an entry of a list is an address, or a range with as many bits as there are. */
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
  // An entry that is no address allows nothing, rather than everything.
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

/** An address of `X-Forwarded-For`, which may come in brackets and with a port, without them. */
export function bareAddress(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^[\d.]+:\d+$/.test(text) ? (text.split(":", 1)[0] as string) : text;
}

/** The address of what listens at a host and port: an IPv6 host comes in brackets there. */
export function httpUrl({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const thisMachine = ["127.0.0.0/8", "::1", "0.0.0.0", "::"];

/** Whether a call to the host of a URL stays on this machine: IPv6 has its brackets there. */
export function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || isListed(thisMachine, hostname.replace(/^\[|\]$/g, ""));
}
