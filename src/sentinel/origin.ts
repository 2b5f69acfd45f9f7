/** The origin of a request: the peer's address, and what trusted proxies in front report. */
import { clientOf, hopsOf, isListed } from "#kernel/address.ts";

export type Origin = {
  /** The caller's address, "unknown" if a trusted proxy names none. */
  client: string;
  /** `X-Forwarded-For` for the upstream: the received value and the peer's address. */
  chain: string;
  /** True if the peer is one of the trusted proxies. */
  isProxied: boolean;
};

/** `trustedProxies`: addresses or ranges whose `X-Forwarded-For` is trusted. */
export function originOf(
  request: Parameters<typeof hopsOf>[0],
  trustedProxies: readonly string[],
): Origin {
  const hops = hopsOf(request);
  return {
    client: clientOf(hops, trustedProxies),
    chain: hops.join(", "),
    isProxied: isListed(trustedProxies, hops.at(-1) ?? ""),
  };
}
