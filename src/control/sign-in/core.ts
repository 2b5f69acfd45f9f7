/** What every way of signing in has in common: the provider's answers, limits, the session, the log. */
import type { Operator } from "#control/config.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import type { Log } from "#kernel/log.ts";
import { isAllowed } from "#kernel/roles.ts";
import { type Claims, identifyPerson, notForPeople, type Recognition } from "./claims.ts";
import { createLimit } from "./limit.ts";
import { createPeople, type People, type PersonSession } from "./people.ts";
import type { Flow, Provider } from "./provider.ts";
import { describeFailure, foreignState, refuseClaims, tooMany } from "./refusals.ts";

export type CoreParts = {
  oidc: OidcSettings;
  operators: Readonly<Record<string, Operator>>;
  provider: Provider;
  /** The same in every process; who has it can make sessions. */
  secret: Uint8Array;
  log: Log;
  nowMs?: () => number;
};

/** How somebody signs in, as the log has it. */
export type How = "console" | "command line" | "device";

/** `remote`: the address of the caller, for the log and the limit. */
export type Core = {
  provider: Provider;
  secret: Uint8Array;
  log: Log;
  nowMs: () => number;
  people: People;
  /** Throws 429 for an address with too many sign-ins. */
  requireWithin: (remote: string) => void;
  /** Asks the provider. Throws what went wrong as a `ProblemError` for the person. */
  ask: <Answer>(remote: string, question: () => Promise<Answer>) => Promise<Answer>;
  /** The claims, by the query with which the provider has sent the browser back. */
  finish: (flow: Flow, end: { query: string; remote: string }) => Promise<Claims>;
  /** Throws the 403 for who may not sign in. */
  openSession: (claims: Claims, by: { remote: string; how: How }) => PersonSession;
};

export function createCore(parts: CoreParts): Core {
  const { provider, secret, log, nowMs = Date.now } = parts;
  const people = createPeople(parts);
  const isWithin = createLimit();

  const requireWithin = (remote: string) => {
    if (!isWithin(remote, nowMs())) throw tooMany();
  };

  const ask = async <Answer>(remote: string, question: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await question();
    } catch (error) {
      const { problem, fault } = describeFailure(error, provider.host);
      log.warn({ remote, provider: provider.host, fault }, "sign-in failed");
      throw problem;
    }
  };

  return {
    provider,
    secret,
    log,
    nowMs,
    people,
    requireWithin,
    ask,
    finish: (flow, { query, remote }) => {
      if (new URLSearchParams(query).get("state") !== flow.state) throw foreignState();
      requireWithin(remote);
      return ask(remote, () => provider.finish(flow, query));
    },
    openSession: (claims, { remote, how }) => {
      const identified = requireReader(identifyPerson(claims, parts), how);
      if ("refusal" in identified) {
        const { code, name } = identified.refusal;
        log.warn({ remote, how, code, ...(name !== undefined && { name }) }, "sign-in refused");
        throw refuseClaims(identified.refusal);
      }
      const session = people.begin(identified.caller, nowMs());
      log.info({ actor: session.actor, remote, how }, "signed in");
      return session;
    },
  };
}

/** The console is for those who may read. */
function requireReader(identified: Recognition, how: How): Recognition {
  if ("refusal" in identified || how !== "console") return identified;
  const { caller } = identified;
  return isAllowed(caller, "read") ? identified : { refusal: notForPeople(caller) };
}
