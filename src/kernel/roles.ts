import { z } from "zod";

export const roles = ["read", "operate", "approve", "notify", "configure"] as const;

/** `read` looks, `operate` rolls out, `approve` approves waves, `notify` calls `NotifyReady`, `configure` changes what is watched. */
export const Role = z.enum(roles);
export type Role = z.infer<typeof Role>;

/** Whoever changes something has to see it. */
const included: Record<Role, readonly Role[]> = {
  read: [],
  operate: ["read", "notify"],
  approve: ["read"],
  notify: [],
  configure: ["read"],
};

/** A job of CI, in the words of its verified token, as history has it; absent: the token does not say. */
export const CiRun = z.object({
  repository: z.string(),
  /** The path of its file. */
  workflow: z.string().optional(),
  ref: z.string().optional(),
  run: z.string().optional(),
  commit: z.string().optional(),
  /** The login of whoever caused it, there. */
  person: z.string().optional(),
});
export type CiRun = z.infer<typeof CiRun>;

/**
 * A caller that `control` has authenticated: its name in logs and records, its roles, the setting that gives them,
 * which is `control.operators` if absent, and this person's accounts: at the identity provider, and `row:…`. Absent
 * accounts: none is known, and the name says who it is.
 */
export type Caller = {
  actor: string;
  roles: readonly Role[];
  grantedBy?: string;
  accounts?: readonly string[];
  /** The job of CI that calls; absent: none does. */
  ciRun?: CiRun;
};

export function isAllowed({ roles: held }: Pick<Caller, "roles">, wanted: Role): boolean {
  return held.some((role) => role === wanted || included[role].includes(wanted));
}

/** Explains a refusal: what the caller may do, and what the call requires. */
export function whyNotAllowed(caller: Caller, wanted: string): string {
  const { actor, roles: held, grantedBy = "control.operators" } = caller;
  return `${actor} may ${held.join(", ")}; this call takes ${wanted} (${grantedBy})`;
}

/** True if the caller has each role by name, which allows more than all of them together. */
export function hasEveryRole({ roles: held }: Pick<Caller, "roles">): boolean {
  return roles.every((role) => held.includes(role));
}
