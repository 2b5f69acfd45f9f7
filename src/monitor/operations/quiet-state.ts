/** The durable state of mute and maintenance; API checks and heartbeats store it under the same key. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Quiet } from "#monitor/contract.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";

const key = "quiet";

export async function readQuiet(ctx: ObjectSharedContext): Promise<Quiet> {
  return (await ctx.get<Quiet>(key)) ?? notQuiet;
}

export const writeQuiet = (ctx: ObjectContext, quiet: Quiet) => ctx.set(key, quiet);
