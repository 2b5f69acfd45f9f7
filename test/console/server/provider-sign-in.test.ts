/** The console's part of signing in at an identity provider: addresses, cookies, and what it says. */
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import type { ConsoleAccess, ProviderAccess } from "#console/contract.ts";
import { createGuard } from "#console/server/guard.ts";
import { serveProviderSignIn } from "#console/server/provider-sign-in.ts";
import { createLog } from "#kernel/log.ts";
import { ProblemError, toProblem } from "#kernel/problem.ts";
import type { Role } from "#kernel/roles.ts";

const session = {
  id: "s1",
  actor: "ada@example.com",
  roles: ["read"] as Role[],
  mark: "m",
  endsAtMs: Date.now() + 3_600_000,
};

type Options = { publicUrl?: string; finish?: ProviderAccess["finish"]; hasProvider?: boolean };

const own = { host: "127.0.0.1:7071", origin: "http://127.0.0.1:7071" };

function startPage({ publicUrl = "", finish = async () => session, hasProvider = true }: Options) {
  const began: unknown[] = [];
  const provider: ProviderAccess = {
    host: "login.example.com",
    begin: async (begin) => {
      began.push(begin);
      const state = `s${began.length}`;
      return { url: "https://login.example.com/auth", flow: `${state}.${begin.returnTo}` };
    },
    read: (flow) => {
      const [, state, returnTo] = /^(s\d)\.(.*)$/.exec(flow) ?? [];
      return state === undefined || returnTo === undefined ? undefined : { state, returnTo };
    },
    finish,
    find: async ({ actor, roles, mark }) => (mark === "m" ? { actor, roles } : undefined),
  };
  const access: ConsoleAccess = {
    identify: () => undefined,
    callers: new Map(),
    sessionKey: Buffer.alloc(32),
    findHandler: () => undefined,
    call: async () => null,
    ...(hasProvider && { provider }),
  };
  const logouts = { add: async () => {}, has: async () => false };
  const guard = createGuard(access, { logouts, publicUrl });
  const log = createLog({ level: "silent", format: "json" });
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    void reply.code(problem.status).send(problem);
  });
  const isSecure = publicUrl.startsWith("https:");
  void app.register(
    async (inner) => {
      serveProviderSignIn(inner, { access, guard, log, isSecure, publicUrl });
      inner.get("/api/who", async (request) => (await guard.requireSession(request)).actor);
    },
    { prefix: "/console" },
  );
  const begin = (return_to: string, headers: Record<string, string> = own) =>
    app.inject({ method: "POST", url: "/console/api/sign-in", headers, payload: { return_to } });
  const get = (path: string, cookie = "") =>
    app.inject({ url: `/console/api/${path}`, headers: { ...own, cookie } });
  return { app, began, begin, get };
}

type Answer = { headers: Record<string, unknown> };

const cookiesOf = ({ headers }: Answer) => [headers["set-cookie"] ?? []].flat().map(String);

/** As a browser sends them back. */
const sentBack = (answer: Answer) =>
  cookiesOf(answer)
    .map((line) => line.split(";")[0])
    .join("; ");

describe("the sign-in page", () => {
  it.each([
    [true, "login.example.com"],
    [false, null],
  ])("learns whether there is a provider (%s): %s", async (hasProvider, host) => {
    const { get } = startPage({ hasProvider });

    expect((await get("sign-in")).json()).toEqual({ provider: host, trouble: null });
  });

  it("begins with a redirect to itself, keeping the flow in a cookie of ten minutes", async () => {
    const { begin, began } = startPage({});

    const answer = await begin("/console/checks");

    expect(answer.json()).toEqual({ url: "https://login.example.com/auth" });
    expect(began).toEqual([
      {
        redirectUri: "http://127.0.0.1:7071/console/api/sign-in/callback",
        returnTo: "/console/checks",
        remote: "127.0.0.1",
      },
    ]);
    expect(cookiesOf(answer)).toEqual([
      "vedette_sign_in=s1./console/checks; Path=/console/api/sign-in; HttpOnly; SameSite=Lax; Max-Age=600",
    ]);
  });

  it.each(["https://rollouts.example.com", "https://rollouts.example.com/console"])(
    "comes back to the public address %s, with cookies for https alone",
    async (publicUrl) => {
      const { begin, began } = startPage({ publicUrl });

      const origin = "https://rollouts.example.com";
      const answer = await begin("/console", { host: "10.0.0.7:7071", origin });

      expect(began).toMatchObject([
        { redirectUri: "https://rollouts.example.com/console/api/sign-in/callback" },
      ]);
      expect(cookiesOf(answer)[0]).toMatch(/; Secure$/);
    },
  );

  it.each([
    "10.0.0.7:7071",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1:7071@evil.example",
    "",
  ])("names the setting that is missing to a browser that calls it %j", async (host) => {
    const { begin } = startPage({});

    const answer = await begin("/console", { host });

    expect(answer.statusCode).toBe(409);
    expect(answer.json().detail).toContain("control.public_url");
  });

  it("sends a browser to the public address that has opened the page at another one", async () => {
    const { begin, began } = startPage({ publicUrl: "https://rollouts.example.com" });

    const answer = await begin("/console");

    expect([answer.statusCode, began]).toEqual([409, []]);
    expect(answer.json().detail).toContain("open this page at https://rollouts.example.com");
  });

  it("begins nothing for a page of another origin", async () => {
    const { begin, began } = startPage({});

    const answer = await begin("/console", { ...own, origin: "https://evil.example" });

    expect([answer.statusCode, began]).toEqual([403, []]);
  });
});

describe("the way back", () => {
  it("makes a session, and goes on where the person was", async () => {
    const { begin, get } = startPage({});
    const begun = await begin("/console/checks?a=1");

    const back = await get("sign-in/callback?code=c&state=s1", sentBack(begun));
    const [cookie = "", flow] = cookiesOf(back);

    expect([back.statusCode, back.headers.location]).toEqual([303, "/console/checks?a=1"]);
    expect(cookie).toMatch(
      /^vedette_session=.*; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=3[56]\d\d$/,
    );
    expect(flow).toMatch(/^vedette_sign_in=; .*Max-Age=0$/);
    expect((await get("who", cookie.split(";")[0])).body).toBe("ada@example.com");
  });

  it("says once, and only to this browser, why it failed", async () => {
    const detail = `<img src=x onerror=alert(1)>\u001b[2J${"x".repeat(2_000)}`;
    const finish = async () => {
      throw new ProblemError({ status: 403, code: "forbidden", detail });
    };
    const { begin, get } = startPage({ finish });
    const begun = await begin("/console/pins");

    const back = await get("sign-in/callback?error=access_denied&state=s1", sentBack(begun));
    const shown = await get("sign-in", sentBack(back));
    const { trouble } = shown.json();

    expect([back.statusCode, back.headers.location]).toEqual([303, "/console/pins"]);
    expect(cookiesOf(back)).toEqual([
      expect.stringMatching(/^vedette_sign_in_note=[\w-]+; .*HttpOnly; SameSite=Lax; Max-Age=60$/),
      expect.stringMatching(/^vedette_sign_in=; .*Max-Age=0$/),
    ]);
    expect(trouble).toHaveLength(500);
    expect(trouble).not.toContain("\u001b");
    expect(cookiesOf(shown)[0]).toMatch(/^vedette_sign_in_note=; .*Max-Age=0$/);
    expect((await get("sign-in")).json().trouble).toBeNull();
  });

  it("says nothing of an error that is not meant for people", async () => {
    const finish = async () => {
      throw new Error("the database's password is 1234");
    };
    const { begin, get } = startPage({ finish });

    const back = await get("sign-in/callback?code=c", sentBack(await begin("/console")));
    const { trouble } = (await get("sign-in", sentBack(back))).json();

    expect(trouble).toMatch(/^Something went wrong here; the log of request .* has the cause\.$/);
  });

  it("shows no words that a link has, and goes nowhere else, without a flow", async () => {
    const finish = async () => {
      throw new ProblemError({ status: 400, code: "sign_in_expired", detail: "It has expired." });
    };
    const { get } = startPage({ finish });

    const back = await get(
      "sign-in/callback?error=x&error_description=call+0800&return_to=//evil.example",
    );
    const { trouble } = (await get("sign-in", sentBack(back))).json();

    expect([back.statusCode, back.headers.location]).toEqual([303, "/console"]);
    expect(cookiesOf(back)).toEqual([]);
    expect(trouble).toBeNull();
  });

  it("of an earlier tab leaves the sign-in that has begun in another one", async () => {
    const finish: ProviderAccess["finish"] = async ({ flow, query }) => {
      if (query.endsWith(flow.slice(0, 2))) return session;
      throw new ProblemError({ status: 400, code: "sign_in_refused", detail: "Another one." });
    };
    const { begin, get } = startPage({ finish });
    await begin("/console/first");
    const second = await begin("/console/second");
    const jar = sentBack(second);

    const early = await get("sign-in/callback?code=c&state=s1", jar);
    const both = `${jar}; ${sentBack(early)}`;
    const shown = await get("sign-in", both);
    const late = await get("sign-in/callback?code=c&state=s2", both);

    expect(cookiesOf(early).map((line) => line.split("=")[0])).toEqual(["vedette_sign_in_note"]);
    expect(shown.json().trouble).toBe("Another one.");
    expect(cookiesOf(late)[0]).toMatch(/^vedette_session=\S/);
    expect(late.headers.location).toBe("/console/second");
  });

  it("ends a session when the settings have changed that it was made with", async () => {
    const finish = async () => ({ ...session, mark: "of other settings" });
    const { begin, get } = startPage({ finish });
    const back = await get("sign-in/callback?code=c", sentBack(await begin("/console")));

    expect((await get("who", sentBack(back))).statusCode).toBe(401);
  });
});
