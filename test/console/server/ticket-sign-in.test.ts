/** Signing in by the ticket of a link: who gets a session, and what is said to everybody else. */
import { fastify } from "fastify";
import { expect, it } from "vitest";
import type { ConsoleAccess } from "#console/contract.ts";
import { createGuard } from "#console/server/guard.ts";
import { serveTicketSignIn } from "#console/server/sign-in.ts";
import type { AccessEvent } from "#kernel/audit.ts";
import { createLog } from "#kernel/log.ts";
import { toProblem } from "#kernel/problem.ts";
import { roles } from "#kernel/roles.ts";

const right = "A".repeat(22);
const wrong = (n: number) => `${"B".repeat(20)}${String(n).padStart(2, "0")}`;

type Options = {
  redeem?: (ticket: string) => Promise<boolean | "unknown">;
  provider?: ConsoleAccess["provider"];
};

function startSignIn({ redeem = async (ticket) => ticket === right, provider }: Options = {}) {
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    return reply.code(problem.status).send(problem);
  });
  const access: ConsoleAccess = {
    identify: (token) => {
      if (token === "shared") return { actor: "ingress-token", roles };
      return token === "own" ? { actor: "alice", roles: ["read"] } : undefined;
    },
    callers: new Map([["ingress-token", { actor: "ingress-token", roles, mark: "m" }]]),
    sessionKey: Buffer.alloc(32),
    findHandler: () => undefined,
    call: async () => null,
    ...(provider !== undefined && { provider }),
  };
  const logouts = { add: async () => {}, has: async () => false };
  const guard = createGuard(access, { logouts, publicUrl: "" });
  const log = createLog({ level: "silent", format: "json" });
  const isSecure = false;
  const recorded: AccessEvent[] = [];
  serveTicketSignIn(app, {
    record: async (event) => void recorded.push(event),
    access,
    guard,
    tickets: { redeem, issue: async () => right },
    publicUrl: "",
    log,
    isSecure,
    fleets: [{ name: "singleton" }],
  });
  app.get("/whoami", async (request) => (await guard.requireSession(request)).actor);
  const post = (ticket: string, headers: Record<string, string> = {}) =>
    app.inject({ method: "POST", url: "/api/session/ticket", headers, payload: { ticket } });
  const askLink = (token: string) =>
    app.inject({ method: "POST", url: "/api/session/link", payload: { token } });
  return { app, post, askLink, recorded };
}

it("begins the session of the ingress token's holder", async () => {
  const { app, post } = startSignIn();

  const answer = await post(right);

  expect(answer.json()).toMatchObject({ actor: "ingress-token", roles: [...roles] });
  const [cookie = ""] = String(answer.headers["set-cookie"]).split(";");
  const whoami = await app.inject({ url: "/whoami", headers: { cookie } });
  expect(whoami.body).toBe("ingress-token");
});

it("refuses a ticket that is used, old or unknown, and says what to do", async () => {
  const answer = await startSignIn().post(wrong(1));

  expect(answer.statusCode).toBe(401);
  expect(answer.headers["set-cookie"]).toBeUndefined();
  expect(answer.json().detail).toContain("npx vedette console");
});

it("gives the ingress token's holder a ticket", async () => {
  const answer = await startSignIn().askLink("shared");

  expect(answer.json()).toEqual({ public_url: "", ticket: right, provider: null });
});

it("gives an operator none, whose token may lack roles that the link has", async () => {
  const answer = await startSignIn().askLink("own");

  expect(answer.json()).toEqual({ public_url: "", ticket: null, provider: null });
});

it("gives nobody a ticket where people sign in at an identity provider, and names that", async () => {
  const provider = { host: "id.example.com" } as ConsoleAccess["provider"];

  const answer = await startSignIn({ provider }).askLink("shared");

  expect(answer.json()).toEqual({ public_url: "", ticket: null, provider: "id.example.com" });
});

it("gives an unknown token no ticket, and tells an address with many of them to wait", async () => {
  const { askLink } = startSignIn();

  const statuses = new Set<number>();
  for (let n = 0; n < 20; n += 1) statuses.add((await askLink(`wrong-${n}`)).statusCode);

  expect([...statuses]).toEqual([401, 429]);
});

it.each(["askLink", "post"] as const)(
  "records a wrong one of %s, and not what it is",
  async (how) => {
    const { [how]: ask, recorded } = startSignIn();

    await ask(wrong(1));

    expect(recorded).toEqual([expect.objectContaining({ event: "session.refused" })]);
    expect(JSON.stringify(recorded)).not.toContain(wrong(1));
  },
);

it("tells an address with many wrong ones to wait, and takes the right one from there", async () => {
  const { post } = startSignIn();

  const statuses = new Set<number>();
  for (let n = 0; n < 20; n += 1) statuses.add((await post(wrong(n))).statusCode);

  expect([...statuses]).toEqual([401, 429]);
  expect((await post(right)).statusCode).toBe(200);
});

it("uses no ticket up for a page of another site", async () => {
  const redeemed: string[] = [];
  const redeem = async (ticket: string) => redeemed.push(ticket) > 0;
  const { post } = startSignIn({ redeem });

  const answer = await post(right, { "sec-fetch-site": "cross-site" });

  expect(answer.statusCode).toBe(403);
  expect(redeemed).toEqual([]);
});

it("takes no ticket where people sign in at an identity provider", async () => {
  const provider = { host: "id.example.com" } as ConsoleAccess["provider"];
  const { post } = startSignIn({ redeem: async () => true, provider });

  const answer = await post(right);

  expect(answer.statusCode).toBe(403);
  expect(answer.json().detail).toContain("id.example.com");
});

it("says so when the database does not answer", async () => {
  const { post } = startSignIn({ redeem: async () => "unknown" });

  const answer = await post(right);

  expect(answer.statusCode).toBe(503);
  expect(answer.json().detail).toContain("Sign in with the ingress token.");
});

it.each(["", "short", "A".repeat(23), `${"A".repeat(21)}/`])(
  "refuses %j, which is no ticket, before it asks the database",
  async (text) => {
    const never = async () => {
      throw new Error("asked");
    };

    expect((await startSignIn({ redeem: never }).post(text)).statusCode).toBe(400);
  },
);
