/** Signing in at the identity provider: in the console's page, on the command line, and by a code. */
import type { ProviderAccess } from "#console/contract.ts";
import type { Caller } from "#kernel/roles.ts";
import { type Core, type CoreParts, createCore } from "./core.ts";
import { createFlows } from "./flows.ts";
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
};

export function createSignIn(parts: CoreParts & { logouts: Logouts }): SignIn {
  const { logouts, secret } = parts;
  const core = createCore(parts);
  const bearers = createBearers(secret);
  return {
    core,
    bearers,
    logouts,
    console: createConsoleSignIn(core),
    find: async (bearer) => {
      const session = bearers.open(bearer, core.nowMs());
      const caller = session && core.people.find(session);
      if (session === undefined || caller === undefined) return undefined;
      return (await logouts.has(session)) ? undefined : { session, caller };
    },
  };
}

function createConsoleSignIn(core: Core): ProviderAccess {
  const flows = createFlows(core, "sign-in of the console");
  return {
    host: core.provider.host,
    begin: ({ redirectUri, returnTo, remote }) =>
      flows.begin({ redirectUri, bound: returnTo, remote }),
    read: (sealed) => {
      const flow = flows.read(sealed);
      return flow && { returnTo: flow.bound, state: flow.state };
    },
    finish: async ({ flow, query, remote }) => {
      const claims = await core.finish(flows.open(flow), { query, remote });
      return core.openSession(claims, { remote, how: "console" });
    },
    find: core.people.find,
  };
}
