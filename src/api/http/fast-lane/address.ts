/** The address of a caller, as Fastify finds it. */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import proxyAddr from "@fastify/proxy-addr";

/** Proxies in front, whose X-Forwarded-For is believed; false: none. */
export type TrustProxy = false | string[];

export type AddressOf = (socket: Socket, headers: IncomingHttpHeaders) => string;

export function createAddressOf(trustProxy: TrustProxy): AddressOf {
  if (trustProxy === false) return ({ remoteAddress = "" }) => remoteAddress;
  const isTrusted = proxyAddr.compile(trustProxy);
  return (socket, headers) =>
    proxyAddr({ socket, headers } as unknown as Parameters<typeof proxyAddr>[0], isTrusted) ?? "";
}
