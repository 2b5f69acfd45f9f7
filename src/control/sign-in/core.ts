/** The common part of every way of signing in: the provider's answers, limits, the session, the log. */
import { isIPv6 } from "node:net";
import { LRUCache } from "lru-cache";
import type { Operator } from "#control/config.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import type { Log } from "#kernel/log.ts";
import { isAllowed } from "#kernel/roles.ts";
import { cleanText, isClean } from "#kernel/text.ts";
import {
  type Claims,
  identifyPerson,
  nameOfAnother,
  noSubject,
  notForPeople,
  type PeopleSettings,
  type Recognition,
} from "./claims.ts";
import { accountOf, type Names } from "./names.ts";
import { createPeople, type People, type PersonSession } from "./people.ts";
import type { Flow, Provider } from "./provider.ts";
import { describeFailure, foreignState, refuseClaims, tooMany } from "./refusals.ts";

export type CoreParts = {
  oidc: OidcSettings;
  operators: Readonly<Record<string, Operator>>;
  provider: Provider;
  names: Names;
  /** The same in every process; who has it can make sessions. */
  secret: Uint8Array;
  log: Log;
  /** Absent: nothing is recorded. */
  record?: RecordAccess | undefined;
  nowMs?: () => number;
};

/** `remote`: the address of the caller, for the log and the limit. */
export type Core = {
  provider: Provider;
  secret: Uint8Array;
  log: Log;
  record: RecordAccess;
  nowMs: () => number;
  people: People;
  /** Throws 429 for too many. `key`: what is counted, when it is not the address. */
  requireWithin: (what: LimitName, by: { remote: string; key?: string }) => void;
  /** Asks the provider. Throws what went wrong as a `ProblemError` for the person. */
  ask: <Answer>(remote: string, question: () => Promise<Answer>) => Promise<Answer>;
  /** The claims, by the query with which the provider has sent the browser back. */
  finish: (flow: Flow, end: { query: string; remote: string }) => Promise<Claims>;
  /** Throws the 403 for who may not sign in, and 503 while Postgres is away. */
  openSession: (claims: Claims, by: { remote: string; how: Method }) => Promise<PersonSession>;
};

export function createCore(parts: CoreParts): Core {
  const { provider, secret, log, record = async () => {}, nowMs = Date.now } = parts;
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
    record,
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
        await record({ event: "session.refused", actor: name, remote, what: how, meta: { code } });
        throw refuseClaims(recognized.refusal);
      }
      const session = people.start(
        { ...recognized.caller, subject: String(claims["sub"]) },
        nowMs(),
      );
      const { actor } = session;
      log.info({ actor, ...by }, "signed in");
      const meta = { subject: by.subject, roles: session.roles };
      await record({ event: "session.start", actor, remote, what: how, meta });
      return session;
    },
  };
}

/** Logs only the first refusal of a minute: refused callers may continue for long. */
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

/**
 * Limits for each minute. `start`: of an address; more than an office behind one needs, and few for a provider.
 * `finish`: of one sign-in, so that nobody's can be used up by others; an address has as many as it has begun.
 * `poll`: of an address, as it is passed on to the provider; as many as 25 waiting people need.
 */
const limits = { begin: 60, finish: 10, poll: 300 } as const;

type LimitName = keyof typeof limits;

const windowMs = 60_000;

/** `is-first`: it is refused, and is the first refused one of the minute. */
type Verdict = "within" | "is-first" | "refused";

export function createLimit(count: number) {
  const counts = new LRUCache<string, { used: number; sinceMs: number }>({ max: 10_000 });
  return (key: string, nowMs: number): Verdict => {
    const known = counts.get(key);
    const isFresh = known === undefined || nowMs - known.sinceMs >= windowMs;
    const current = isFresh ? { used: 0, sinceMs: nowMs } : known;
    current.used += 1;
    if (isFresh) counts.set(key, current);
    if (current.used <= count) return "within";
    return current.used === count + 1 ? "is-first" : "refused";
  };
}

/** Returns the network of one visitor: an IPv4 address, or the /64 of an IPv6 address, in which everybody has many. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  // An IPv4 address at the end is two groups.
  const tailLength = tail.length + (address.includes(".") ? 1 : 0);
  const zeros = after === undefined ? 0 : Math.max(8 - head.length - tailLength, 0);
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** The way of signing in, as the log has it. */
export type Method = "console" | "command line" | "device";

/** OpenID Connect Core 1.0, 2. */
const longestSubject = 255;

/** Throws 503 while Postgres, which has the names of accounts, is away. */
type Recognize = (claims: Claims, how: Method) => Promise<Recognition>;

type Parts = PeopleSettings & { issuer: string; names: Names };

function createRecognize({ names, ...settings }: Parts): Recognize {
  return async (claims, how) => {
    const { sub: subject } = claims;
    const isUsable = typeof subject === "string" && subject !== "";
    if (!isUsable || !isClean(subject, longestSubject)) return { refusal: noSubject };
    const account = accountOf(settings, subject);

    const attempt = async (held: string | undefined): Promise<Recognition> => {
      const found = requireReader(identifyPerson(claims, settings, held), how);
      if ("refusal" in found) return found;
      const { actor } = found.caller;
      if (found.isLinked) {
        await names.assign(account, actor);
        return found;
      }
      const taken = await names.take(account, actor);
      if (taken === undefined) return { refusal: nameOfAnother(actor) };
      // Another process has been faster, with another name.
      return taken === actor ? found : attempt(taken);
    };
    return attempt(await names.find(account));
  };
}

/** The console is for those who may read. */
function requireReader(identified: Recognition, how: Method): Recognition {
  if ("refusal" in identified || how !== "console") return identified;
  const { caller } = identified;
  return isAllowed(caller, "read") ? identified : { refusal: notForPeople(caller) };
}

function subjectOf({ sub }: Claims): string {
  return cleanText(typeof sub === "string" ? sub : "", longestSubject);
}
