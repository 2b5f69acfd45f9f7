/** What every way of signing in has in common: the provider's answers, limits, the session, the log. */
import type { Operator } from "#control/config.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import type { Log } from "#kernel/log.ts";
import type { Claims } from "./claims.ts";
import { createLimit, type LimitName, limits, networkOf } from "./limit.ts";
import type { Names } from "./names.ts";
import { createPeople, type People, type PersonSession } from "./people.ts";
import type { Flow, Provider } from "./provider.ts";
import { createRecognize, type How, subjectOf } from "./recognize.ts";
import { describeFailure, foreignState, refuseClaims, tooMany } from "./refusals.ts";

export type CoreParts = {
  oidc: OidcSettings;
  operators: Readonly<Record<string, Operator>>;
  provider: Provider;
  names: Names;
  /** The same in every process; who has it can make sessions. */
  secret: Uint8Array;
  log: Log;
  nowMs?: () => number;
};

/** `remote`: the address of the caller, for the log and the limit. */
export type Core = {
  provider: Provider;
  secret: Uint8Array;
  log: Log;
  nowMs: () => number;
  people: People;
  /** Throws 429 for too many. `key`: what is counted, when it is not the address. */
  requireWithin: (what: LimitName, by: { remote: string; key?: string }) => void;
  /** Asks the provider. Throws what went wrong as a `ProblemError` for the person. */
  ask: <Answer>(remote: string, question: () => Promise<Answer>) => Promise<Answer>;
  /** The claims, by the query with which the provider has sent the browser back. */
  finish: (flow: Flow, end: { query: string; remote: string }) => Promise<Claims>;
  /** Throws the 403 for who may not sign in, and 503 while Postgres is away. */
  openSession: (claims: Claims, by: { remote: string; how: How }) => Promise<PersonSession>;
};

export function createCore(parts: CoreParts): Core {
  const { provider, secret, log, nowMs = Date.now } = parts;
  const people = createPeople(parts);
  const recognize = createRecognize({ ...parts, issuer: parts.oidc.issuer });

  const requireWithin = createRequireWithin({ log, nowMs });

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
      requireWithin("finish", { remote, key: flow.state });
      return ask(remote, () => provider.finish(flow, query));
    },
    openSession: async (claims, { remote, how }) => {
      const by = { subject: subjectOf(claims), remote, how };
      const recognized = await recognize(claims, how);
      if ("refusal" in recognized) {
        const { code, name } = recognized.refusal;
        log.warn({ ...by, code, ...(name !== undefined && { name }) }, "sign-in refused");
        throw refuseClaims(recognized.refusal);
      }
      const session = people.begin(
        { ...recognized.caller, subject: String(claims["sub"]) },
        nowMs(),
      );
      log.info({ actor: session.actor, ...by }, "signed in");
      return session;
    },
  };
}

/** Only the first refusal of a minute is a line in the log: whoever is refused may go on for long. */
function createRequireWithin({ log, nowMs }: Pick<Core, "log" | "nowMs">): Core["requireWithin"] {
  const { begin, finish, poll } = limits;
  const counters = {
    begin: createLimit(begin),
    finish: createLimit(finish),
    poll: createLimit(poll),
  };
  return (what, { remote, key = networkOf(remote) }) => {
    const verdict = counters[what](key, nowMs());
    if (verdict === "within") return;
    if (verdict === "is-first") log.warn({ remote, limit: what }, "too many sign-ins");
    throw tooMany();
  };
}
