import { isIPv6 } from "node:net";
import { LRUCache } from "lru-cache";

/**
 * How often something may happen in a minute. `begin`: of an address; more than an office behind one needs, and
 * few for a provider. `finish`: of one sign-in, so that nobody's can be used up by others; an address has as many
 * as it has begun. `poll`: of an address, as it is passed on to the provider; as many as 25 who wait need.
 */
export const limits = { begin: 60, finish: 10, poll: 300 } as const;

export type LimitName = keyof typeof limits;

const windowMs = 60_000;

/** `is-first`: it is refused, and is the first refused one of the minute. */
type Verdict = "within" | "is-first" | "refused";

export function createLimit(count: number) {
  const counts = new LRUCache<string, { used: number; sinceMs: number }>({ max: 10_000 });
  return (key: string, nowMs: number): Verdict => {
    const known = counts.get(key);
    const isFresh = known === undefined || nowMs - known.sinceMs >= windowMs;
    const current = isFresh ? { used: 0, sinceMs: nowMs } : known;
    current.used += 1;
    if (isFresh) counts.set(key, current);
    if (current.used <= count) return "within";
    return current.used === count + 1 ? "is-first" : "refused";
  };
}

/** What one visitor has: an IPv4 address, or the /64 of an IPv6 address, in which everybody has many. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  // An IPv4 address at the end is two groups.
  const tailLength = tail.length + (address.includes(".") ? 1 : 0);
  const zeros = after === undefined ? 0 : Math.max(8 - head.length - tailLength, 0);
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
