/** The durable state of the sync: each key declared once. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ApplyResult, DriftReport, RoutesStatus } from "#routing/incident/contract.ts";
import type { AnnouncedState } from "./drift.ts";
import type { OpenCreations, OwnedRoutes } from "./internal.ts";

/** The running apply, and its invocation, which shows whether it still runs. */
export type ApplyInProgress = NonNullable<RoutesStatus["applying"]> & { invocation: string };

const keys = {
  owned: "owned",
  creations: "creations",
  applying: "applying",
  lastApply: "lastApply",
  drift: "drift",
  announced: "told",
} as const;

export const readOwned = async (ctx: ObjectSharedContext): Promise<OwnedRoutes> =>
  (await ctx.get<OwnedRoutes>(keys.owned)) ?? {};
export const writeOwned = (ctx: ObjectContext, owned: OwnedRoutes) => ctx.set(keys.owned, owned);

export const readCreations = async (ctx: ObjectSharedContext): Promise<OpenCreations> =>
  (await ctx.get<OpenCreations>(keys.creations)) ?? {};
export const writeCreations = (ctx: ObjectContext, creations: OpenCreations) =>
  ctx.set(keys.creations, creations);

export const readApplying = (ctx: ObjectSharedContext) => ctx.get<ApplyInProgress>(keys.applying);
export const writeApplying = (ctx: ObjectContext, now: ApplyInProgress) =>
  ctx.set(keys.applying, now);

export const readLastApply = (ctx: ObjectSharedContext) => ctx.get<ApplyResult>(keys.lastApply);

/** Ends the running apply, and stores its result. */
export function writeEnd(ctx: ObjectContext, result: ApplyResult): void {
  ctx.clear(keys.applying);
  ctx.set(keys.lastApply, result);
}

export const readDrift = (ctx: ObjectSharedContext) => ctx.get<DriftReport>(keys.drift);
export const writeDrift = (ctx: ObjectContext, report: DriftReport) => ctx.set(keys.drift, report);

/** The state that was last announced; initially in step. */
export const readAnnounced = async (ctx: ObjectSharedContext): Promise<AnnouncedState> =>
  (await ctx.get<AnnouncedState>(keys.announced)) ?? "in_step";
export const writeAnnounced = (ctx: ObjectContext, announced: AnnouncedState) =>
  ctx.set(keys.announced, announced);
