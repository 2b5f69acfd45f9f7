/** The caller's name, and whether the gateway has signed it. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { accountsHeader, actorHeader, isSigned } from "#kernel/signed-actor.ts";

export type Actor = {
  /** The name that the caller gave; trusted only if `isSigned`. */
  by: string;
  isSigned?: true;
  /** Accounts of a signed caller, as `Caller` has them. */
  accounts?: string[];
};

export type ReadActor = (ctx: Pick<ObjectSharedContext, "request">) => Actor;

/** The actor of a call with the ingress token, which is shared: nobody knows who it is. */
export const sharedActor = "ingress-token";

/** Stands for an account at the identity provider that can no longer be determined. */
export const unknownAccount = "unknown";

/** The name for callers on this machine, or beside Restate, that did not come through the gateway. */
const unsignedActor = "local-caller";

/** The name that the Restate console's calls have, which send none. */
const unnamedActor = "restate-console";

/** `key`: the gateway signs with it. The name is passed on as the caller wrote it, with `isSigned` beside it. */
export function createReadActor(key: Uint8Array): ReadActor {
  return (ctx) => {
    const { headers, body, target } = ctx.request();
    const by = headers.get(actorHeader) ?? unnamedActor;
    const request = { target: target.toString(), body };
    if (!isSigned(headers, request, key)) return { by };
    const accounts = headers.get(accountsHeader)?.split(" ");
    return { by, isSigned: true, ...(accounts !== undefined && { accounts }) };
  };
}

/** The name that is written to the history: nobody's if the gateway has not signed it. */
export function nameOf({ by, isSigned }: Actor): string {
  return isSigned === true ? by : unsignedActor;
}
