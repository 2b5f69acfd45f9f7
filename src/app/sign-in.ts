/** Wires signing in: at an identity provider, and by a link. */
import { createHmac } from "node:crypto";
import { createTickets, type Tickets } from "#console/tickets.ts";
import { createNames } from "#control/sign-in/names.ts";
import { createProvider } from "#control/sign-in/provider.ts";
import { createSignIn, type Logouts, type SignIn } from "#control/sign-in/sign-in.ts";
import type { Database } from "#kernel/database.ts";
import { createReach } from "#kernel/reach.ts";
import type { Base } from "./base.ts";

type SignInParts = { actorKey: Uint8Array; database: Database; logouts: Logouts };

/** undefined: no provider is set. Does not ask the provider: `control` starts also while that is down. */
export function prepareSignIn(
  { config, credentials, log, services }: Base,
  { actorKey, database, logouts }: SignInParts,
): SignIn | undefined {
  const { oidc, operators } = config.control;
  if (oidc.issuer === "") return undefined;
  return createSignIn({
    oidc,
    operators,
    provider: createProvider(oidc, { reach: createReach({ services }) }),
    names: createNames(database, log),
    secret: secretOf(actorKey, credentials.ingress_token),
    logouts,
    log,
  });
}

/** With another ingress token all earlier tickets are void, as its sessions are. */
export function prepareTickets(
  { credentials }: Pick<Base, "credentials">,
  { actorKey, database }: Pick<SignInParts, "actorKey" | "database">,
): Tickets {
  return createTickets(database, secretOf(actorKey, credentials.ingress_token));
}

/** Nobody makes a session with the ingress token alone; and with another one, all sessions end. */
function secretOf(actorKey: Uint8Array, ingressToken: string): Uint8Array {
  return createHmac("sha256", actorKey).update(`vedette sign-in ${ingressToken}`).digest();
}
