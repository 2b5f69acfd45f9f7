/** Signing in with wrong tokens, and with right ones, from one address. */
import { fastify } from "fastify";
import { expect, it } from "vitest";
import type { Guard } from "#console/server/guard.ts";
import { serveSignIn } from "#console/server/sign-in.ts";
import { createLog } from "#kernel/log.ts";
import { toProblem } from "#kernel/problem.ts";
import type { Role } from "#kernel/roles.ts";

const right = "the-right-token";

function startSignIn(trustProxy: string[] | false = false, roles: readonly Role[] = ["operate"]) {
  const app = fastify({ trustProxy });
  app.setErrorHandler((error, _request, reply) => reply.code(toProblem(error).status).send());
  serveSignIn(app, {
    access: {
      identify: (token) => (token === right ? { actor: "alice", roles } : undefined),
      callers: new Map(),
      sessionKey: Buffer.alloc(32),
      findHandler: () => undefined,
      call: async () => null,
    },
    guard: { requireOwnPage: () => {}, csrfOf: () => "csrf" } as unknown as Guard,
    logouts: { add: async () => {}, has: async () => false },
    log: createLog({ level: "silent", format: "json" }),
    isSecure: false,
    fleets: [{ name: "singleton" }],
  });
  return async (token: string, from?: string) => {
    const answer = await app.inject({
      method: "POST",
      url: "/api/session",
      headers: from === undefined ? {} : { "x-forwarded-for": from },
      payload: { token },
    });
    return answer.statusCode;
  };
}

async function failOften(signIn: ReturnType<typeof startSignIn>, from?: string) {
  const statuses = new Set<number>();
  for (let n = 0; n < 20; n += 1) statuses.add(await signIn(`wrong-${n}`, from));
  return [...statuses];
}

it("takes the right token after however many wrong ones from the same address", async () => {
  const signIn = startSignIn();

  const failures = await failOften(signIn);

  expect(failures).toEqual([401, 429]);
  expect(await signIn(right)).toBe(200);
});

it("does not count one wrong token many times, which a page that tries again shows", async () => {
  const signIn = startSignIn();

  const statuses = new Set<number>();
  for (let n = 0; n < 20; n += 1) statuses.add(await signIn("yesterday's token"));

  expect([...statuses]).toEqual([401]);
});

it("tells the people behind a proxy apart when the proxy is trusted", async () => {
  const signIn = startSignIn(["127.0.0.1"]);
  await failOften(signIn, "192.0.2.1");

  expect(await signIn("wrong", "192.0.2.1")).toBe(429);
  expect(await signIn("wrong", "192.0.2.2")).toBe(401);
});

it("believes no address that a caller itself names", async () => {
  const signIn = startSignIn();
  await failOften(signIn, "192.0.2.1");

  expect(await signIn("wrong", "192.0.2.2")).toBe(429);
});

it.each([
  { roles: ["read"], status: 200 },
  { roles: ["approve"], status: 200 },
  { roles: ["notify"], status: 403 },
] as const)("signs in an operator that may $roles: $status", async ({ roles, status }) => {
  expect(await startSignIn(false, roles)(right)).toBe(status);
});
