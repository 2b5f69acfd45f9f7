/** Who called, as the gateway vouches for it. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { actorHeader, isSigned } from "#kernel/signed-actor.ts";

export type Actor = {
  /** What the caller says; believed where `isSigned` stands beside it. */
  by: string;
  isSigned?: true;
};

export type ReadActor = (ctx: Pick<ObjectSharedContext, "request">) => Actor;

/** Somebody on this machine, or beside Restate, who did not come through the gateway. */
const unsignedActor = "local-caller";

/**
 * `key` is the one that the gateway signs with. The name goes on as the caller wrote it, with a mark when
 * it is signed: a call that was recorded by an earlier version is then repeated as it was made.
 */
export function createReadActor(key: Uint8Array): ReadActor {
  return (ctx) => {
    const { headers, body, target } = ctx.request();
    const by = headers.get(actorHeader) ?? "restate-console";
    const request = { target: target.toString(), body };
    return isSigned(headers, request, key) ? { by, isSigned: true } : { by };
  };
}

/** The name that history keeps. */
export function nameOf({ by, isSigned: isVouched }: Actor): string {
  return isVouched === true ? by : unsignedActor;
}
