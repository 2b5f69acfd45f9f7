import { expect, it } from "vitest";
import { originOf } from "#sentinel/headers.ts";

const proxies = ["10.0.0.0/8", "2001:db8::/32"];

const from = (remoteAddress: string | undefined, forwardedFor?: string) =>
  originOf(
    {
      headers: { ...(forwardedFor !== undefined && { "x-forwarded-for": forwardedFor }) },
      socket: { remoteAddress },
    },
    proxies,
  );

it.each([
  ["who connects", "203.0.113.7", undefined, "203.0.113.7"],
  [
    "the peer, whatever address it sends itself",
    "203.0.113.7",
    "10.0.0.1, 198.51.100.1",
    "203.0.113.7",
  ],
  ["whom a trusted proxy names", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
  [
    "the address that the first of two trusted proxies names",
    "10.0.0.1",
    "198.51.100.1, 10.0.0.2",
    "198.51.100.1",
  ],
  ["not what somebody wrote before that", "10.0.0.1", "192.0.2.1, 198.51.100.1", "198.51.100.1"],
  ["without a port", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
  ["without brackets", "10.0.0.1", "[2001:4860::1]:4711", "2001:4860::1"],
  ["a trusted proxy that asks for itself", "10.0.0.1", undefined, "10.0.0.1"],
  ["nobody when a trusted proxy knows nobody", "10.0.0.1", "192.0.2.1, unknown", "unknown"],
  ["who connects over both kinds of addresses", "::ffff:203.0.113.7", undefined, "203.0.113.7"],
  ["nobody when the connection is gone", undefined, undefined, "unknown"],
])("the client is %s", (_, peer, forwardedFor, client) => {
  expect(from(peer, forwardedFor).client).toBe(client);
});

it("the chain has the received addresses and the peer, trusted or not", () => {
  expect(from("203.0.113.7", "192.0.2.1,198.51.100.1").chain).toBe(
    "192.0.2.1, 198.51.100.1, 203.0.113.7",
  );
});
