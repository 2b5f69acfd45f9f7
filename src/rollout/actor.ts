import type { ObjectSharedContext } from "@restatedev/restate-sdk";

/** Who called, as the gateway vouches for it; without it the call came from the Restate console. */
export function actorOf(ctx: Pick<ObjectSharedContext, "request">): string {
  return ctx.request().headers.get("x-vedette-actor") ?? "restate-console";
}
