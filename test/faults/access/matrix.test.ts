/** Each handler of the allow-list, by each caller, at each address that serves it. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { createConsole } from "#console/server/console.ts";
import { createSession, csrfOf, seal } from "#console/server/session.ts";
import { findRoute, type Route, roleOf, routes } from "#control/routes.ts";
import { createProvider } from "#control/sign-in/provider.ts";
import { createSignIn } from "#control/sign-in/sign-in.ts";
import { markedCallers } from "#control/token.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { isAllowed, type Role, roles } from "#kernel/roles.ts";
import { toStatus } from "#rollout/handlers/answer.ts";
import { neverAsked } from "../../support/never-asked.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";
import { createMemoryLogouts } from "../../support/program/sign-in-bench.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** The right that each handler takes, written down by hand: a handler that moves to another role moves here as well. */
const rights: Record<string, Record<string, string>> = {
  read: {
    SentinelRolloutService: "Status Plan History",
    RolloutWindows: "List",
    RolloutPins: "List",
    RolloutPromotions: "List",
    RolloutReplay: "Replay",
    RolloutProofs: "Read",
    FleetService: "List Drift",
    CronService: "Status",
    CheckReads: "List History Chart Summary Episodes Replay",
    Definitions: "Plan Show",
    MonitorRunners: "List",
    AlertEvents: "List Show",
    AlertRoutes: "Status Backups Backup",
    StatusReads: "Read",
    Engine: "Versions",
  },
  operate: {
    SentinelRolloutService: "Rollout Resume Pause Skip Cancel RollbackAll",
    RolloutWindows: "Add Remove",
    RolloutPins: "Add Remove",
    RolloutPromotions: "Add Remove",
    FleetService: "ConfirmList Log",
    CronService: "Run",
    ApiCheck: "Mute Unmute Acknowledge Maintenance EndMaintenance Run",
    Heartbeat: "Mute Unmute Acknowledge Maintenance EndMaintenance",
    Drill: "Run",
    AlertEvents: "Retry Test",
    Engine: "Troubled Adopt Retry",
  },
  configure: {
    Heartbeat: "Register",
    Definitions: "Apply",
    MonitorRunners: "Add Remove",
    AlertRoutes: "Apply",
  },
  approve: { SentinelRolloutService: "Approve" },
  notify: { SentinelService: "NotifyReady" },
};

/** The rights of a caller that has this role alone. */
const holdings: Record<string, string[]> = {
  read: ["read"],
  operate: ["read", "operate", "notify"],
  configure: ["read", "configure"],
  approve: ["read", "approve"],
  notify: ["notify"],
};

/** Bodies that the schemas give no example of. */
const key = "a".repeat(64);
const rows = ["locations", "channels", "checks", "heartbeats", "drills", "sources", "routes"];
const definitions = Object.fromEntries(rows.map((name) => [name, []]));
const plan = {
  format: "vedette-alert-plan-1",
  incident_url: "https://incidents.example.com",
  made_at: "2030-01-01T00:00:00Z",
  of: "routes",
  routes: [],
  orphans: [],
  names: {},
};
const bodies: Record<string, Record<string, unknown>> = {
  Maintenance: { from: "2030-01-01T00:00:00Z", to: "2030-01-01T01:00:00Z", reason: "a move" },
  Register: { token_hash: key },
  "MonitorRunners/Add": { location: "fra", token_hash: key },
  "Definitions/Plan": { definitions },
  "Definitions/Apply": { definitions, base_revision: 0 },
  NotifyReady: { image: "registry.example.com/vedette/sentinel:v2" },
  "AlertRoutes/Apply": { plan },
  "AlertRoutes/Backup": { backup: "x" },
};

const idle = toStatus(null);

type Handler = { name: string; path: string; route: Route; body: object };

/** By the pattern of its path, which the path has to match again. */
function toHandler(route: Route): Handler {
  const path = route.path.source
    .replace(/^\^|\(\?:\\\/send\)\?\$$/g, "")
    .replaceAll("\\/", "/")
    .replaceAll("\\.", ".")
    .replace(/\/\(\?!.*?\{1,341\}/, "/gw-1")
    .replace(/\[a-z\]\[a-z0-9_-\]\{0,39\}/, "singleton")
    .replace("[a-z0-9-]{1,100}", "a-check");
  const [service = "", ...rest] = path.slice("/vedette.v1.".length).split("/");
  const handler = rest.at(-1) ?? "";
  const name = `${service}/${handler}`;
  const examples = route.input.meta()?.["examples"] as object[] | undefined;
  return { name, path, route, body: bodies[name] ?? bodies[handler] ?? examples?.[0] ?? {} };
}

const handlers = routes.map(toHandler);

const rightOf = ({ name }: Handler): string | undefined => {
  const [service = "", handler = ""] = name.split("/");
  const lists = Object.entries(rights).filter(([, services]) =>
    services[service]?.split(" ").includes(handler),
  );
  const [right] = lists.length === 1 ? (lists[0] ?? []) : [];
  return right;
};

describe("the table of rights", () => {
  it.each(handlers)("has $name, once, and the body of its call is valid", (handler) => {
    expect(findRoute(handler.path)).toBe(handler.route);
    expect(handler.route.input.safeParse(handler.body).error?.issues).toBeUndefined();
    expect(roleOf(handler.route)).toBe(rightOf(handler));
  });

  it("has nothing else", () => {
    const listed = Object.values(rights).flatMap((services) =>
      Object.entries(services).flatMap(([service, names]) =>
        names.split(" ").map((handler) => `${service}/${handler}`),
      ),
    );

    expect(listed.sort()).toEqual([...new Set(handlers.map(({ name }) => name))].sort());
  });

  it("says of each role by itself what the rules say", () => {
    const ruled = roles.map((role) => [
      role,
      roles.filter((wanted) => isAllowed({ roles: [role] }, wanted)).sort(),
    ]);

    expect(Object.fromEntries(ruled)).toEqual(
      Object.fromEntries(Object.entries(holdings).map(([role, held]) => [role, held.sort()])),
    );
  });
});

const log = createLog({ level: "silent", format: "json" });

const environment = {
  VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
  VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
};
const { oidc } = readConfig({ environment }).control;
const logouts = createMemoryLogouts();
const signIn = createSignIn({
  oidc,
  operators: {},
  provider: createProvider(oidc),
  names: createMemoryNames(),
  secret: Buffer.alloc(32),
  logouts,
  log,
});
/** Each is of another person: the calls that one person has sent are limited, and here are more. */
const session = (held: readonly Role[]) => {
  const actor = `${people++}@example.com`;
  return signIn.bearers.seal(signIn.core.people.start({ actor, roles: [...held] }, Date.now()));
};
let people = 0;

const operators: Record<string, readonly Role[]> = {
  ...Object.fromEntries(roles.map((role) => [role, [role]])),
  everything: roles,
};

/** `holds`: the roles that the caller has; undefined: it is nobody. */
type Who = { who: string; headers: () => Record<string, string>; holds?: readonly Role[] };

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (token: string) => ({
  authorization: `Basic ${Buffer.from(`anyone:${token}`).toString("base64")}`,
});

const callers: Who[] = [
  ...roles.flatMap((role): Who[] => [
    { who: `an operator who may ${role}`, headers: () => bearer(`of-${role}`), holds: [role] },
    { who: `a session that may ${role}`, headers: () => bearer(session([role])), holds: [role] },
  ]),
  { who: "an operator with all roles", headers: () => bearer("of-everything"), holds: roles },
  { who: "the ingress token", headers: () => bearer("shared"), holds: roles },
  { who: "nobody", headers: () => ({}) },
  { who: "a wrong token", headers: () => bearer("wrong") },
  { who: "an empty token", headers: () => ({ authorization: "Bearer " }) },
  { who: "a token's hash", headers: () => bearer(key) },
  { who: "a session of another key", headers: () => bearer(session(roles).replace(/.$/, "~")) },
  { who: "a name alone", headers: () => ({ "x-vedette-actor": "everything" }) },
  { who: "a session of the console", headers: () => consoleSession("everything") },
  { who: "one with its mark", headers: () => consoleSession("everything", "with its mark") },
];

const tokens = { ingressToken: "shared" };
let bench: Awaited<ReturnType<typeof startAccessBench>>;
let consoleKey: Uint8Array = Buffer.alloc(32);
let marks: ReturnType<typeof markedCallers> = markedCallers(tokens);
const consolePosts: string[] = [];

/** The cookie of somebody who has signed in at the console, and the token that its page sends with writes. */
function consoleSession(actor: string, withMark?: string): Record<string, string> {
  const mark = marks.get(actor)?.mark ?? "";
  const begun = createSession(actor, { mark, nowMs: Date.now() });
  const cookie = `vedette_session=${seal(begun, consoleKey)}`;
  return { cookie, ...(withMark !== undefined && { "x-csrf-token": csrfOf(begun, consoleKey) }) };
}

let end: () => Promise<void> = async () => {};

beforeAll(async () => {
  const page = makeTempDir();
  mkdirSync(path.join(page.path, "assets"));
  writeFileSync(path.join(page.path, "index.html"), "<head></head>");
  const parts = {
    logouts,
    tickets: { issue: async () => undefined, redeem: async () => false },
    log,
    dir: page.path,
    publicUrl: "",
    fleets: [{ name: "singleton" }],
    legalOperations: () => [],
    fleetPages: { overview: neverAsked, deploys: neverAsked, images: neverAsked },
    readMoment: neverAsked,
    listApis: neverAsked,
    readRouting: neverAsked,
  };
  const plugin = createConsole(parts as never);
  bench = await startAccessBench({
    operators,
    answer: (path) => (path.endsWith("/Status") ? idle : {}),
    signIn,
    atEnd: (ends) => {
      end = () => ends().finally(page.remove);
    },
    console: (access) => {
      consoleKey = access.sessionKey;
      marks = new Map(access.callers) as typeof marks;
      return async (app) => {
        app.addHook("onRoute", ({ method, url }) => {
          if (method === "POST") consolePosts.push(url);
        });
        await plugin(access)(app, {});
      };
    },
  });
});

afterAll(() => end());

const addresses: Record<string, () => string> = {
  control: () => bench.control,
  "Restate's ingress": () => bench.ingress,
  "Restate's console": () => `${bench.admin}/ingress`,
};

const cases = callers.flatMap((caller) =>
  Object.keys(addresses).flatMap((place) =>
    ["", "/send"].map((send) => ({ ...caller, place, send, kind: send === "" ? "call" : "send" })),
  ),
);

/** By path: whether the call has reached Restate, or the status of the refusal. */
async function outcomesOf(
  place: string,
  { send, headers }: { send: string } & Pick<Who, "headers">,
) {
  const before = bench.reached.length;
  // A few at once: on a slow machine a call that waits behind seventy others is given up.
  const inTurn = pLimit(8);
  const call = async ({ path, body }: Handler) => {
    const answer = await fetch(`${addresses[place]?.()}${path}${send}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers() },
      body: JSON.stringify(body),
    });
    await answer.text();
    return { path, status: String(answer.status) };
  };
  const answers = await Promise.all(handlers.map((handler) => inTurn(() => call(handler))));
  const arrived = new Set(bench.reached.slice(before).map(({ path }) => path));
  return Object.fromEntries(
    answers.map(({ path, status }) => [
      path,
      arrived.has(ingressPath(`${path}${send}`)) ? "reached" : status,
    ]),
  );
}

function wantedOf(handler: Handler, { holds }: Who): string {
  const right = rightOf(handler) ?? "";
  const may = holds?.some((role) => holdings[role]?.includes(right)) === true;
  if (may) return "reached";
  return holds === undefined ? "401" : "403";
}

describe("the handlers", () => {
  it.each(cases)("by a $kind of $who at $place are reached as the table has it", async (one) => {
    const found = await outcomesOf(one.place, one);

    const wanted = handlers.map((handler) => [handler.path, wantedOf(handler, one)]);
    expect(found).toEqual(Object.fromEntries(wanted));
  });

  it("with the password of Basic is as good as with a bearer at Restate's addresses, and none at control", async () => {
    const statuses = [];
    for (const place of Object.keys(addresses)) {
      const url = `${addresses[place]?.()}/vedette.v1.FleetService/List`;
      const headers = { "content-type": "application/json", ...basic("of-read") };
      statuses.push((await fetch(url, { method: "POST", headers, body: "{}" })).status);
    }

    expect(statuses).toEqual([401, 200, 200]);
  });
});

/** The state that an operator has seen, which each write to the rollout names. */
const seen = { expect: { rollout_id: idle.rollout_id, state: idle.state } };

const roleless = ["configure", "notify"];

describe("the console", () => {
  const statusOf = async (path: string, headers: Record<string, string>, body: object = {}) => {
    const answer = await fetch(`${bench.control}/console/api${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  /** Without those of Status, which the console makes of itself. */
  const reachedSince = (before: number, handler: Handler) =>
    bench.reached
      .slice(before)
      .filter(
        ({ path }) =>
          path === ingressPath(handler.path) ||
          !path.endsWith("SentinelRolloutService/singleton/Status"),
      );
  const isOffered = ({ route }: Handler) => !roleless.includes(roleOf(route));
  const bodyOf = ({ name, body, route }: Handler) =>
    name.startsWith("SentinelRolloutService/") && route.isWrite ? { ...body, ...seen } : body;

  it("takes nothing without a session, and nothing but reads without the mark of its page", async () => {
    const found: Record<string, number[]> = {};
    const wanted: Record<string, number[]> = {};
    const views = consolePosts
      .filter((url) => url.includes("/api/read/"))
      .map((url) => ({ path: url.replace("/console/api", ""), isRead: true }));
    const calls = handlers.map((handler) => ({
      path: handler.path,
      isRead: rightOf(handler) === "read",
    }));
    for (const { path, isRead } of [...views, ...calls]) {
      const signedIn = consoleSession("everything");
      found[path] = [await statusOf(path, {}), await statusOf(path, bearer("of-everything"))];
      wanted[path] = isRead ? [401, 401] : [401, 401, 403, 403];
      if (isRead) continue;
      found[path].push(
        await statusOf(path, signedIn),
        await statusOf(path, { ...signedIn, "x-csrf-token": "guess" }),
      );
    }

    expect(views.length).toBeGreaterThan(5);
    expect(found).toEqual(wanted);
  });

  it("has no other posts than its views, its sessions and the path of the handlers", () => {
    const others = consolePosts.filter((url) => !/\/api\/(?:session|sign-in|read\/)/.test(url));

    expect(others).toEqual(["/console/api/vedette.v1.*"]);
  });

  it.each(handlers.filter(isOffered))(
    "takes $name from its role alone, before anything is changed",
    async (handler) => {
      const found: Record<string, unknown> = {};
      for (const role of roles) {
        const before = bench.reached.length;
        const session = consoleSession(role, "with its mark");
        const status = await statusOf(handler.path, session, bodyOf(handler));
        const calls = reachedSince(before, handler);
        found[role] = status === 200 ? calls.length > 0 : [status, calls.length];
      }

      const may = (role: Role) => holdings[role]?.includes(rightOf(handler) ?? "");
      const wanted = roles.map((role) => [role, may(role) ? true : [403, 0]]);
      expect(found).toEqual({ ...Object.fromEntries(wanted), notify: [401, 0] });
    },
  );

  it.each(handlers.filter((handler) => !isOffered(handler)))(
    "has $name for nobody",
    async (handler) => {
      const before = bench.reached.length;

      const status = await statusOf(
        handler.path,
        consoleSession("everything", "with its mark"),
        handler.body,
      );

      expect([status, reachedSince(before, handler)]).toEqual([404, []]);
    },
  );
});
