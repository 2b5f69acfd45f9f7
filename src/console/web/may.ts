/** The permissions of the operator who is signed in. The server decides; the page only offers what it would not refuse. */
import type { Session } from "#console/contract.ts";
import type { Role } from "#kernel/roles.ts";
import { session } from "./session.ts";

type Held = Pick<Session, "roles">;

/** The roles that the page asks for; src/kernel/roles.ts includes none of them in another one. */
export type Wanted = Extract<Role, "operate" | "approve" | "configure">;

export function may(wanted: Wanted): boolean {
  const held = session.value;
  return held != null && isAllowed(held, wanted);
}

/** Changes of the rollouts of a fleet, which its settings may leave to some; undefined: of every fleet. */
export function mayRollOut(fleet: string | undefined): boolean {
  const held = session.value;
  return held != null && isAllowed(held, "operate") && isOperatorOf(held, fleet);
}

export function isOperatorOf(
  { foreign_fleets: foreign }: Fleets,
  fleet: string | undefined,
): boolean {
  return fleet === undefined ? foreign.length === 0 : !foreign.includes(fleet);
}

type Fleets = Pick<Session, "foreign_fleets">;

export function isAllowed({ roles }: Held, wanted: Wanted): boolean {
  return roles.includes(wanted);
}

export function limitWords(held: Held): string | undefined {
  const all = ["operate", "approve", "configure"] as const;
  if (all.every((wanted) => isAllowed(held, wanted))) return undefined;
  return `may ${[...new Set(["read", ...held.roles])].join(", ")}`;
}
