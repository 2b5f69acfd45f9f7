/** What callers of `control` may do. */
import { z } from "zod";

export const roles = ["read", "operate", "approve", "notify"] as const;

/**
 * `read` looks, `operate` changes what there is, `approve` approves waves of rollouts, `notify` calls `NotifyReady` of
 * sentinels.
 */
export const Role = z.enum(roles);
export type Role = z.infer<typeof Role>;

/** Whoever changes something has to see it. */
const included: Record<Role, readonly Role[]> = {
  read: [],
  operate: ["read", "notify"],
  approve: ["read"],
  notify: [],
};

/**
 * A caller that `control` has authenticated: its name in logs and records, its roles, and the setting that
 * gives them, which is `control.operators` if absent.
 */
export type Caller = { actor: string; roles: readonly Role[]; grantedBy?: string };

export function isAllowed({ roles: held }: Pick<Caller, "roles">, wanted: Role): boolean {
  return held.some((role) => role === wanted || included[role].includes(wanted));
}

/** In words: what the caller may do, and what a call takes. */
export function whyNotAllowed(caller: Caller, wanted: string): string {
  const { actor, roles: held, grantedBy = "control.operators" } = caller;
  return `${actor} may ${held.join(", ")}; this call takes ${wanted} (${grantedBy})`;
}

/** Whether it has each role by name, which allows more than all of them together. */
export function hasEveryRole({ roles: held }: Pick<Caller, "roles">): boolean {
  return roles.every((role) => held.includes(role));
}
