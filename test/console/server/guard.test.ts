/** Which pages may write. */
import type { FastifyRequest } from "fastify";
import { expect, it } from "vitest";
import { createGuard } from "#console/server/guard.ts";

const publicUrl = "https://rollouts.example.com";

function mayWrite(headers: Record<string, string>): boolean {
  const access = {
    identify: () => undefined,
    callers: new Map(),
    sessionKey: Buffer.alloc(32),
    findHandler: () => undefined,
    call: async () => null,
  };
  const logouts = { add: async () => {}, has: async () => false };
  const guard = createGuard(access, { logouts, publicUrl });
  try {
    guard.requireOwnPage({ headers } as unknown as FastifyRequest);
    return true;
  } catch {
    return false;
  }
}

it.each([
  {},
  { host: "127.0.0.1:7071", origin: "http://127.0.0.1:7071" },
  { host: "127.0.0.1:7071", origin: "http://127.0.0.1:7071", "sec-fetch-site": "same-origin" },
  { host: "10.0.0.7:7071", origin: publicUrl },
])("a page with %j may write", (headers) => {
  expect(mayWrite(headers)).toBe(true);
});

it.each([
  { origin: "null" },
  { origin: "" },
  { host: "127.0.0.1:7071", origin: "null" },
  { host: "127.0.0.1:7071", origin: "" },
  { host: "127.0.0.1:7071", origin: "http://127.0.0.1:7072" },
  { host: "127.0.0.1:7071", origin: "http://127.0.0.1:7071.example.com" },
  { host: "127.0.0.1:7071", origin: `${publicUrl}.evil.example` },
  { host: "127.0.0.1:7071", "sec-fetch-site": "same-site" },
  { host: "127.0.0.1:7071", "sec-fetch-site": "cross-site" },
  { host: "127.0.0.1:7071", "sec-fetch-site": "none" },
])("a page with %j may not", (headers) => {
  expect(mayWrite(headers)).toBe(false);
});
