/** Signing in at the identity provider: in the console's page, on the command line, and by a code. */
import type { ProviderAccess } from "#console/contract.ts";
import { lowerCaseName } from "#control/contract.ts";
import { unknownAccount } from "#kernel/actor.ts";
import { inTime } from "#kernel/async.ts";
import type { Caller } from "#kernel/roles.ts";
import { type Core, type CoreParts, createCore } from "./core.ts";
import { createFlows } from "./flows.ts";
import { accountId, accountOf } from "./names.ts";
import { type Bearers, createBearers, type PersonSession } from "./people.ts";

/** Sign-outs, which all processes get to know. While Postgres is down those are known that were read before. */
export type Logouts = {
  has: (session: { id: string }) => Promise<boolean>;
  add: (session: { id: string; endsAtMs: number }) => Promise<void>;
};

export type SignIn = {
  core: Core;
  bearers: Bearers;
  logouts: Logouts;
  console: ProviderAccess;
  /** The session of a bearer, and what its person may do now; undefined when it is none, or has ended. */
  find: (bearer: string) => Promise<{ session: PersonSession; caller: Caller } | undefined>;
  /** The caller of a token, with the accounts of whoever signs in as the same operator. */
  link: (caller: Caller) => Promise<Caller>;
};

/** A call waits so long for the names of accounts. Sessions and tokens work while Postgres is away. */
const limitMs = 1_000;

export function createSignIn(parts: CoreParts & { logouts: Logouts }): SignIn {
  const { logouts, secret } = parts;
  const core = createCore(parts);
  const bearers = createBearers(secret);
  const find = createFind(parts, core);
  const link = createLink(parts);
  return {
    core,
    bearers,
    logouts,
    console: { ...createConsoleSignIn(core), find, link },
    link,
    find: async (bearer) => {
      const session = bearers.open(bearer, core.nowMs());
      const caller = session && (await find(session));
      if (session === undefined || caller === undefined) return undefined;
      return (await logouts.has(session)) ? undefined : { session, caller };
    },
  };
}

/** A session ends when its account gets another name, or loses it to another account. */
function createFind({ names, oidc }: CoreParts, { people }: Core): ProviderAccess["find"] {
  return async (session) => {
    const { actor, subject } = session;
    const caller = people.find(session);
    if (caller === undefined || subject === undefined) return caller;
    const hasName = async () => {
      const account = accountOf(oidc, subject);
      const name = await names.find(account);
      if (name !== undefined) return name === actor;
      return (await names.holder(account.issuer, actor)) === undefined;
    };
    return (await inTime(hasName, { limitMs, otherwise: true })) ? caller : undefined;
  };
}

/** Until a linked account signs in, it has the name that the operator has at the provider. */
function createLink({ names, oidc, operators }: CoreParts): SignIn["link"] {
  return async (caller) => {
    const { actor, accounts: own = [] } = caller;
    const signIn = Object.hasOwn(operators, actor) ? operators[actor]?.sign_in : undefined;
    if (signIn === undefined) return caller;
    const { issuer } = accountOf(oidc, "");
    const ask = async () =>
      await Promise.all(
        [actor, lowerCaseName(signIn, oidc.name_claim)].map((name) => names.holder(issuer, name)),
      );
    const subjects = await inTime(ask, { limitMs, otherwise: undefined });
    const known = subjects?.filter((subject) => subject !== undefined);
    const accounts = known?.map((subject) => accountId(oidc, subject));
    return { ...caller, accounts: [...own, ...(accounts ?? [unknownAccount])] };
  };
}

function createConsoleSignIn(core: Core): Omit<ProviderAccess, "find" | "link"> {
  const flows = createFlows(core, "sign-in of the console");
  return {
    host: core.provider.host,
    begin: ({ redirectUri, returnTo, remote }) =>
      flows.start({ redirectUri, bound: returnTo, remote }),
    read: (sealed) => {
      const flow = flows.read(sealed);
      return flow && { returnTo: flow.bound, state: flow.state };
    },
    finish: async ({ flow, query, remote }) => {
      const claims = await core.finish(flows.open(flow), { query, remote });
      return core.openSession(claims, { remote, how: "console" });
    },
  };
}
