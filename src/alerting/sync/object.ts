/** Alert routes as an operator sees them: who applies, what is ours, and the timer of the drift check. */
import {
  InvocationIdParser,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
  rpc,
} from "@restatedev/restate-sdk";
import type {
  AlertRoutesProblemCode,
  ApplyRequest,
  ApplyResult,
  Backup,
  DriftReport,
  RoutesStatus,
} from "#alerting/routes-sync-contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { toTerminalError } from "#kernel/terminal.ts";
import { chatChannel } from "#notify/contract.ts";
import { listJobs } from "./apply.ts";
import { waitForApply } from "./attach.ts";
import type { BackupStore } from "./backups.ts";
import { announceDrift } from "./drift.ts";
import { type ApplyBegun, alertRoutesObject, alertRoutesRunner, type Noted } from "./internal.ts";
import {
  type Applying,
  readApplying,
  readDrift,
  readLastApply,
  readOwned,
  readTimer,
  readTold,
  writeApplying,
  writeDrift,
  writeEnd,
  writeOwned,
  writeTimer,
  writeTold,
} from "./state.ts";

export type ObjectParts = {
  /** Empty: nothing can be applied. */
  incidentUrl: string;
  /** 0: drift is not looked for. */
  checkEveryMs: number;
  backups: BackupStore;
};

const hidden = { ingressPrivate: true };

/** How long the database may be unreachable before the caller is told. */
const brief = { maxRetryDuration: 15_000 };

export function createAlertRoutesObject(parts: ObjectParts) {
  const { backups, checkEveryMs } = parts;
  return implement(alertRoutesObject, {
    handlers: {
      Status: status,
      Apply: (ctx, request) => apply(ctx, request, parts),
      Backups: (ctx) => ctx.run("list-backups", backups.list, brief),
      Backup: (ctx, { backup }) => readBackup(ctx, backup, backups),
      begin,
      note,
      keep: async (ctx, { applyId, backup }) => {
        const applying = await readApplying(ctx);
        if (applying?.apply_id === applyId) writeApplying(ctx, { ...applying, backup });
        return null;
      },
      finished: async (ctx, result) => {
        const applying = await readApplying(ctx);
        // One that was taken for lost may still say so itself: then the newer one counts.
        if (applying?.apply_id === result.apply_id) writeEnd(ctx, result);
        return arm(ctx, { checkEveryMs, afterMs: 0 });
      },
      lost,
      start: (ctx) => arm(ctx, { checkEveryMs, afterMs: 0 }),
      tick: (ctx, { generation }) => tick(ctx, { generation, checkEveryMs }),
      readOwned: (ctx) => readOwned(ctx),
      checked,
    },
    options: {
      journalRetention: 0,
      asTerminalError: (error) =>
        error instanceof ProblemError ? toTerminalError(error) : undefined,
      handlers: {
        begin: hidden,
        note: hidden,
        keep: hidden,
        finished: hidden,
        lost: hidden,
        tick: hidden,
        readOwned: hidden,
        checked: hidden,
      },
    },
  });
}

async function status(ctx: ObjectSharedContext): Promise<RoutesStatus> {
  const applying = await readApplying(ctx);
  const timer = await readTimer(ctx);
  const { invocation: _invocation, ...shown } = applying ?? ({} as Applying);
  return {
    applying: applying === null ? null : shown,
    last_apply: await readLastApply(ctx),
    drift: await readDrift(ctx),
    next_check_at: timer === null || timer.dueAtMs === 0 ? null : toIso(timer.dueAtMs),
    owned: await readOwned(ctx),
  };
}

async function apply(
  ctx: ObjectSharedContext,
  request: ApplyRequest,
  { incidentUrl }: ObjectParts,
): Promise<ApplyResult> {
  if (incidentUrl === "") {
    const detail = "incident.url and incident.api_key are not set where Vedette runs";
    throw problem(409, "incident_not_configured", detail);
  }
  const { incident_url: planned } = request.plan;
  if (planned !== incidentUrl) {
    const detail = `the plan is for ${planned}, and Vedette works with ${incidentUrl}`;
    throw problem(409, "other_incident_service", detail);
  }
  return waitForApply(ctx, await ctx.client(alertRoutesObject, ctx.key).begin(request));
}

async function begin(ctx: ObjectContext, request: ApplyRequest): Promise<ApplyBegun> {
  const atWork = await readApplying(ctx);
  if (atWork !== null && (await isRunning(ctx, atWork))) {
    const detail = `an apply is at work since ${atWork.started_at}; one at a time`;
    throw problem(409, "already_applying", detail);
  }
  const applyId = ctx.rand.uuidv4();
  const startedAtMs = await ctx.date.now();
  const owned = await readOwned(ctx);
  const work = { applyId, startedAtMs, request, owned };
  const invocation = await ctx.sendClient(alertRoutesRunner, ctx.key).apply(work).invocationId;
  writeApplying(ctx, {
    apply_id: applyId,
    started_at: toIso(startedAtMs),
    total: listJobs({ request, owned }).length,
    routes: [],
    backup: null,
    invocation,
  });
  return { applyId, invocation };
}

/** How long one that has ended may take to say so. */
const askRunnerMs = 250;

async function isRunning(ctx: ObjectContext, { invocation }: Applying): Promise<boolean> {
  const runner = ctx.invocation(InvocationIdParser.fromString(invocation));
  const ended = runner.attach<ApplyResult>().map(() => false);
  return RestatePromise.race([ended, ctx.sleep(askRunnerMs).map(() => true)]);
}

async function note(ctx: ObjectContext, { applyId, result, owned }: Noted): Promise<null> {
  if (owned !== undefined) {
    const { [result.name]: _before, ...others } = await readOwned(ctx);
    writeOwned(ctx, owned === null ? others : { ...others, [result.name]: owned });
  }
  const applying = await readApplying(ctx);
  if (applying?.apply_id === applyId) {
    writeApplying(ctx, { ...applying, routes: [...applying.routes, result] });
  }
  return null;
}

/** Closes an apply whose run was killed: the routes that it had dealt with are as they are told. */
async function lost(
  ctx: ObjectContext,
  { applyId, reason }: { applyId: string; reason: string },
): Promise<ApplyResult> {
  const applying = await readApplying(ctx);
  if (applying?.apply_id !== applyId) return endOf(ctx, applyId);
  const { invocation: _invocation, ...progress } = applying;
  ctx.console.error("alert routes apply lost", { applyId, detail: reason });
  const ended_at = toIso(await ctx.date.now());
  const result: ApplyResult = { ...progress, outcome: "stopped", ended_at };
  writeEnd(ctx, result);
  return result;
}

/** Of one that had come to its end by itself. */
async function endOf(ctx: ObjectContext, applyId: string): Promise<ApplyResult> {
  const last = await readLastApply(ctx);
  if (last?.apply_id === applyId) return last;
  throw problem(409, "apply_lost", "the apply was killed; alerts status shows where routes are");
}

type Arming = { checkEveryMs: number; afterMs: number };

/** Sets the timer anew, as often as a worker starts or an apply ends: an older one does nothing. */
async function arm(ctx: ObjectContext, { checkEveryMs, afterMs }: Arming): Promise<null> {
  const generation = ((await readTimer(ctx))?.generation ?? 0) + 1;
  if (checkEveryMs === 0) {
    writeTimer(ctx, { generation, dueAtMs: 0 });
    return null;
  }
  writeTimer(ctx, { generation, dueAtMs: (await ctx.date.now()) + afterMs });
  ctx.sendClient(alertRoutesObject, ctx.key).tick({ generation }, rpc.sendOpts({ delay: afterMs }));
  return null;
}

async function tick(
  ctx: ObjectContext,
  { generation, checkEveryMs }: { generation: number; checkEveryMs: number },
): Promise<null> {
  if ((await readTimer(ctx))?.generation !== generation) return null;
  await arm(ctx, { checkEveryMs, afterMs: checkEveryMs });
  if (checkEveryMs > 0) ctx.sendClient(alertRoutesRunner, ctx.key).check({});
  return null;
}

async function checked(ctx: ObjectContext, report: DriftReport): Promise<null> {
  writeDrift(ctx, report);
  const message = announceDrift(await readTold(ctx), report, `drift-${report.checked_at}`);
  if (message === undefined || report.state === "unknown") return null;
  writeTold(ctx, report.state);
  ctx.sendClient(chatChannel, "alert_routes").Post(message);
  return null;
}

async function readBackup(
  ctx: ObjectSharedContext,
  name: string,
  backups: BackupStore,
): Promise<Backup> {
  const backup = await ctx.run("read-backup", () => backups.read(name), brief);
  if (backup !== null) return backup;
  throw problem(404, "unknown_backup", `there is no backup ${name}; the newest 100 are kept`);
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function problem(status: number, code: AlertRoutesProblemCode, detail: string): ProblemError {
  return new ProblemError<AlertRoutesProblemCode>({ status, code, detail });
}
