/** The origin of a request: the peer's address, and what trusted proxies in front report. */
import type { IncomingMessage } from "node:http";
import { bareAddress, isListed } from "#kernel/address.ts";

export type Origin = {
  /** The caller's address, "unknown" if a trusted proxy names none. */
  client: string;
  /** `X-Forwarded-For` for the upstream: the received value and the peer's address. */
  chain: string;
  /** Whether the peer is one of the trusted proxies. */
  isProxied: boolean;
};

type Request = Pick<IncomingMessage, "headers"> & {
  socket: { remoteAddress?: string | undefined };
};

/** `trustedProxies`: addresses or ranges whose `X-Forwarded-For` is trusted. */
export function originOf({ headers, socket }: Request, trustedProxies: readonly string[]): Origin {
  const peer = (socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=[\d.]+$)/i, "");
  const hops = [headers["x-forwarded-for"] ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
  const chain = [...hops, peer];
  return {
    client: clientOf(chain, trustedProxies),
    chain: chain.join(", "),
    isProxied: isListed(trustedProxies, peer),
  };
}

/** The last address in the chain that is not a trusted proxy: any client can have written those before it. */
function clientOf(chain: readonly string[], trustedProxies: readonly string[]): string {
  const addresses = chain.map(bareAddress);
  const client = addresses.findLast((address) => !isListed(trustedProxies, address));
  return client ?? addresses[0] ?? "unknown";
}
