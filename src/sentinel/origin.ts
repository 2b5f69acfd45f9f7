/** From where a request came: who connected, and what proxies in front say if they are trusted. */
import type { IncomingMessage } from "node:http";
import { bareAddress, isListed } from "#kernel/address.ts";

export type Origin = {
  /** The caller's address, "unknown" if a trusted proxy names none. */
  client: string;
  /** `X-Forwarded-For` as the upstream gets it: what came, and who connected. */
  chain: string;
  /** Whether who connected is one of the trusted proxies. */
  isProxied: boolean;
};

type Request = Pick<IncomingMessage, "headers"> & {
  socket: { remoteAddress?: string | undefined };
};

/** `trustedProxies`: addresses or ranges whose own `X-Forwarded-For` is believed. */
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

/** The last one in the chain that is no trusted proxy: what stands before it anyone can have written. */
function clientOf(chain: readonly string[], trustedProxies: readonly string[]): string {
  const addresses = chain.map(bareAddress);
  const client = addresses.findLast((address) => !isListed(trustedProxies, address));
  return client ?? addresses[0] ?? "unknown";
}
