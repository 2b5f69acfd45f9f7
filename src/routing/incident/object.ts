/** The virtual object of alert routes, which operators call. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { notices } from "#alerts/contract.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { after, asTerminalError, attachOrLost, unkept } from "#kernel/restate.ts";
import { toIso } from "#kernel/time.ts";
import type {
  ApplyRequest,
  ApplyResult,
  Backup,
  DriftReport,
  RoutesStatus,
} from "#routing/incident/contract.ts";
import type { BackupStore } from "./backups.ts";
import { announceDrift } from "./drift.ts";
import { alertRoutesObject, alertRoutesRuns, type OpenCreations } from "./internal.ts";
import {
  type ApplyInProgress,
  readAnnounced,
  readApplying,
  readCreations,
  readDrift,
  readLastApply,
  readOwned,
  writeAnnounced,
  writeDrift,
} from "./state.ts";
import { finish, intend, lost, problem, recordStep, startApply, storeBackup } from "./work.ts";

export type ObjectParts = {
  /** Empty: nothing can be applied. */
  incidentUrl: string;
  /** The time of the next drift check; undefined: there are none. */
  nextCheckAtMs: ((nowMs: number) => number) | undefined;
  listLagMs: number;
  backups: BackupStore;
  readActor: ReadActor;
};

const hidden = { ingressPrivate: true };

const limits = { limitMs: 10_000, problem: "backups cannot be read" };
const listing = databaseRead("list-backups", limits);
const reading = databaseRead("read-backup", limits);

export function createAlertRoutesObject(parts: ObjectParts) {
  const { backups, listLagMs } = parts;
  const checksDrift = parts.nextCheckAtMs !== undefined;
  return implement(alertRoutesObject, {
    handlers: {
      Status: (ctx) => status(ctx, parts),
      Apply: (ctx, request) => apply(ctx, request, parts),
      Backups: (ctx) => readNow(ctx, listing, backups.list),
      Backup: (ctx, { backup }) => readBackup(ctx, backup, backups),
      begin: startApply,
      note: recordStep,
      intend,
      keep: storeBackup,
      finished: async (ctx, result) => {
        await finish(ctx, result);
        if (!checksDrift) return null;
        requestCheck(ctx, 0);
        // Once more when lists show all routes that the apply created.
        requestCheck(ctx, listLagMs);
        return null;
      },
      lost,
      start: async (ctx) => {
        if (checksDrift) requestCheck(ctx, 0);
        return null;
      },
      readOwned: (ctx) => readOwned(ctx),
      checked,
    },
    options: {
      journalRetention: 0,
      asTerminalError,
      handlers: {
        ...{ Status: unkept, Backups: unkept, Backup: unkept },
        begin: hidden,
        note: hidden,
        intend: hidden,
        keep: hidden,
        finished: hidden,
        lost: hidden,
        readOwned: hidden,
        checked: hidden,
      },
    },
  });
}

async function status(
  ctx: ObjectSharedContext,
  { nextCheckAtMs }: ObjectParts,
): Promise<RoutesStatus> {
  const applying = await readApplying(ctx);
  const { invocation: _invocation, ...shown } = applying ?? ({} as ApplyInProgress);
  return {
    applying: applying === null ? null : shown,
    last_apply: await readLastApply(ctx),
    drift: await readDrift(ctx),
    next_check_at: nextCheckAtMs === undefined ? null : toIso(nextCheckAtMs(await ctx.date.now())),
    owned: await readOwned(ctx),
    creations: beginnings(await readCreations(ctx)),
  };
}

function beginnings(creations: OpenCreations): RoutesStatus["creations"] {
  const entries = Object.entries(creations);
  return Object.fromEntries(entries.map(([name, { begun_at }]) => [name, { begun_at }]));
}

async function apply(
  ctx: ObjectSharedContext,
  request: ApplyRequest,
  { incidentUrl, readActor }: ObjectParts,
): Promise<ApplyResult> {
  if (incidentUrl === "") {
    const detail = "incident.url and incident.api_key are not set where Vedette runs";
    throw problem(409, "incident_not_configured", detail);
  }
  const { incident_url: planned } = request.plan;
  if (planned !== incidentUrl) {
    const detail = `the plan is for ${planned}, but Vedette uses ${incidentUrl}`;
    throw problem(409, "other_incident_service", detail);
  }
  const by = nameOf(readActor(ctx));
  const { applyId, invocation } = await ctx
    .client(alertRoutesObject, ctx.key)
    .begin({ ...request, by });
  const lost = (ended: string) =>
    ctx
      .client(alertRoutesObject, ctx.key)
      .lost({ applyId, reason: `the apply ended early: ${ended}` });
  const { adopt, prune } = request;
  ctx.console.info("alert routes apply started", { applyId, by, adopt, prune });
  return attachOrLost(ctx, invocation, { lost });
}

async function readBackup(
  ctx: ObjectSharedContext,
  name: string,
  backups: BackupStore,
): Promise<Backup> {
  const backup = await readNow(ctx, reading, () => backups.read(name));
  if (backup !== null) return backup;
  throw problem(404, "unknown_backup", `there is no backup ${name}; the newest 100 are kept`);
}

function requestCheck(ctx: ObjectContext, afterMs: number): void {
  ctx.sendClient(alertRoutesRuns, ctx.key).check({}, after(afterMs));
}

/** Notifies people when drift appears and when it ends. */
async function checked(ctx: ObjectContext, report: DriftReport): Promise<null> {
  writeDrift(ctx, report);
  const message = announceDrift(await readAnnounced(ctx), report, `drift-${report.checked_at}`);
  if (message === undefined || report.state === "unknown") return null;
  writeAnnounced(ctx, report.state);
  ctx.sendClient(notices, "alert_routes").post(message);
  return null;
}
