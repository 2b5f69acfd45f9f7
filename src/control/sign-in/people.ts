/** Sessions of people who have signed in at the identity provider, and what ends them. */
import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Operator } from "#control/config.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import { rowAccounts } from "#control/token.ts";
import { createSealer } from "#kernel/crypto.ts";
import { secretPrefixes } from "#kernel/log.ts";
import { type Caller, Role } from "#kernel/roles.ts";
import { isSameSecret } from "#kernel/same-secret.ts";
import { findLinked } from "./claims.ts";
import { accountId } from "./names.ts";

export const PersonSession = z.object({
  id: z.string(),
  actor: z.string(),
  /** The account at the provider; absent: nobody has asked it. */
  subject: z.string().optional(),
  roles: z.array(Role),
  endsAtMs: z.number(),
  /** Proves the rest, under the settings that made these roles. */
  mark: z.string(),
});
export type PersonSession = z.infer<typeof PersonSession>;

export type People = {
  start: (person: Caller & { subject?: string | undefined }, nowMs: number) => PersonSession;
  /** Returns the session's caller; undefined: the settings have changed since, and it has ended. */
  find: (session: PersonSession) => Caller | undefined;
};

type Settings = {
  oidc: OidcSettings;
  operators: Readonly<Record<string, Operator>>;
  /** Signs sessions: not even the key of the console's cookies makes one. */
  secret: Uint8Array;
};

export function createPeople(settings: Settings): People {
  const { session_hours: hours } = settings.oidc;
  return {
    start: ({ actor, subject, roles }, nowMs) => {
      const id = randomBytes(16).toString("base64url");
      const endsAtMs = nowMs + hours * 3_600_000;
      const session = { id, actor, subject, roles: [...roles], endsAtMs };
      return { ...session, mark: createMark(session, settings) };
    },
    find: (session) => {
      const { actor, subject, roles, mark } = session;
      if (!isSameSecret(mark, createMark(session, settings))) return undefined;
      const { oidc, operators } = settings;
      const row = Object.hasOwn(operators, actor) ? operators[actor] : undefined;
      const accounts = [
        ...(subject === undefined ? [] : [accountId(oidc, subject)]),
        ...rowAccounts(row ?? {}),
      ];
      return {
        ...{ actor, roles },
        ...(row === undefined && { grantedBy: "control.oidc" }),
        ...(accounts.length > 0 && { accounts }),
      };
    },
  };
}

/** Creates a mark of the session, and of everything that decides about its name and its roles. */
function createMark(session: Omit<PersonSession, "mark">, settings: Settings): string {
  const { id, actor, subject, roles, endsAtMs } = session;
  const text = JSON.stringify([id, actor, subject, roles, endsAtMs, ...groundsOf(actor, settings)]);
  return createHmac("sha256", settings.secret).update(`vedette mark ${text}`).digest("base64url");
}

/** The provider, the claims, what they give, and the operator's row. */
function groundsOf(actor: string, { oidc, operators }: Settings): unknown[] {
  const { issuer, client_id, name_claim, roles_claim, session_hours } = oidc;
  const own = Object.hasOwn(operators, actor) ? operators[actor] : undefined;
  const row = own ?? findLinked(actor, { oidc, operators })?.[1];
  const granted = [Object.entries(oidc.roles).toSorted(), oidc.default_roles];
  const rowParts = row === undefined ? null : [row.token ?? null, row.sign_in ?? null, row.roles];
  return [issuer, client_id, name_claim, roles_claim, session_hours, granted, rowParts];
}

/** Seals the command line's token. A console's cookie is none, and none is a cookie. */
export type Bearers = {
  seal: (session: PersonSession) => string;
  /** undefined: this is none of ours, or it has expired. */
  open: (token: string, nowMs: number) => PersonSession | undefined;
};

export function createBearers(secret: Uint8Array): Bearers {
  const prefix = secretPrefixes.session;
  const sealer = createSealer(PersonSession, { secret, purpose: "session of the command line" });
  return {
    seal: (session) => `${prefix}${sealer.seal(session, session.endsAtMs)}`,
    open: (token, nowMs) =>
      token.startsWith(prefix) ? sealer.open(token.slice(prefix.length), nowMs) : undefined,
  };
}
