/** Sessions of people who have signed in at the identity provider, and what ends them. */
import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import type { Operator } from "#control/config.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import { type Caller, Role } from "#kernel/roles.ts";
import { createSealer } from "#kernel/seal.ts";
import { findLinked } from "./claims.ts";

export const PersonSession = z.object({
  id: z.string(),
  actor: z.string(),
  roles: z.array(Role),
  /** Changes with the settings that made these roles. */
  mark: z.string(),
  endsAtMs: z.number(),
});
export type PersonSession = z.infer<typeof PersonSession>;

export type People = {
  begin: (caller: Caller, nowMs: number) => PersonSession;
  /** What the session's person may do; undefined: the settings have changed since, and it has ended. */
  find: (session: Pick<PersonSession, "actor" | "roles" | "mark">) => Caller | undefined;
};

type Settings = { oidc: OidcSettings; operators: Readonly<Record<string, Operator>> };

export function createPeople(settings: Settings): People {
  const { session_hours: hours } = settings.oidc;
  const markOf = (actor: string) => createMark(actor, settings);
  return {
    begin: ({ actor, roles }, nowMs) => ({
      id: randomBytes(16).toString("base64url"),
      actor,
      roles: [...roles],
      mark: markOf(actor),
      endsAtMs: nowMs + hours * 3_600_000,
    }),
    find: ({ actor, roles, mark }) => {
      if (mark !== markOf(actor)) return undefined;
      const isRow = Object.hasOwn(settings.operators, actor);
      return { actor, roles, ...(!isRow && { grantedBy: "control.oidc" }) };
    },
  };
}

/** Everything that decides about the name and the roles: the provider, the claims, the operator's row. */
function createMark(actor: string, { oidc, operators }: Settings): string {
  const { issuer, client_id, name_claim, roles_claim, session_hours } = oidc;
  const own = Object.hasOwn(operators, actor) ? operators[actor] : undefined;
  const row = own ?? findLinked(actor, { oidc, operators })?.[1];
  const granted = [Object.entries(oidc.roles).toSorted(), oidc.default_roles];
  const rowParts = row === undefined ? null : [row.token ?? null, row.sign_in ?? null, row.roles];
  const parts = [issuer, client_id, name_claim, roles_claim, session_hours, granted, rowParts];
  const hash = createHash("sha256").update("vedette sign-in mark").update(JSON.stringify(parts));
  return hash.digest("base64url").slice(0, 16);
}

/** What the command line sends instead of a token. A console's cookie is none, and none is a cookie. */
export type Bearers = {
  seal: (session: PersonSession) => string;
  /** undefined: this is none of ours, or it has expired. */
  open: (token: string, nowMs: number) => PersonSession | undefined;
};

/** By it people and programs that look for secrets recognize one. */
const prefix = "vds_";

export function createBearers(secret: Uint8Array): Bearers {
  const sealer = createSealer(PersonSession, { secret, purpose: "session of the command line" });
  return {
    seal: (session) => `${prefix}${sealer.seal(session, session.endsAtMs)}`,
    open: (token, nowMs) =>
      token.startsWith(prefix) ? sealer.open(token.slice(prefix.length), nowMs) : undefined,
  };
}
