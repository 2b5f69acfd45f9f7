/** The object that calls the incident service: one apply, or one drift check, at a time. */
import { implement, type ObjectContext, TerminalError } from "@restatedev/restate-sdk";
import type { ApplyResult, Content, DriftReport } from "#routing/incident/contract.ts";
import { applyAll } from "./apply.ts";
import type { ApplyStep } from "./apply-route.ts";
import type { BackupStore } from "./backups.ts";
import { evaluateDrift, unknownDrift } from "./drift.ts";
import type { ConfiguredIds } from "./ids-file.ts";
import {
  type ApplyWork,
  alertRoutesObject,
  alertRoutesRuns,
  type Creation,
  type OwnedRoutes,
} from "./internal.ts";
import type { ShowDrift } from "./metrics.ts";
import { planRows } from "./plan.ts";
import type { Rows } from "./resolve.ts";
import { createReader, createService } from "./service.ts";
import { retryLimits, type Steps } from "./steps.ts";
import { readSurvey } from "./survey.ts";
import { readOnly, refuseAll, type Send } from "./transport.ts";

export type ApplyServiceParts = {
  send: Send;
  incidentUrl: string;
  readRows: () => Promise<Rows>;
  /** Reads the file each time. Throws with what is wrong with it. */
  readGivenIds: () => ConfiguredIds;
  listLagMs: number;
  backups: BackupStore;
  showDrift: ShowDrift;
};

export function createApplyService(parts: ApplyServiceParts) {
  return implement(alertRoutesRuns, {
    handlers: { apply: (ctx, work) => apply(ctx, work, parts), check: (ctx) => check(ctx, parts) },
    // Long enough for callers to attach after a reconnect.
    options: { ingressPrivate: true, journalRetention: { minutes: 10 } },
  });
}

function durable(ctx: ObjectContext): Steps {
  return {
    run: async (name, action) => await ctx.run(name, action),
    sleep: async (ms) => {
      await ctx.sleep(ms);
    },
  };
}

async function apply(
  ctx: ObjectContext,
  work: ApplyWork,
  parts: ApplyServiceParts,
): Promise<ApplyResult> {
  const { applyId, by, startedAtMs } = work;
  let backup: string | null = null;
  const { routes, doubled } = await applyAll(work, {
    steps: durable(ctx),
    retryLimits: retryLimits.worker,
    service: createService(sendFor(work, parts)),
    listLagMs: parts.listLagMs,
    intend: (creation) => intend(ctx, creation),
    saveBackup: async (details) => {
      const failure = await saveBackup(ctx, { applyId, by, details, parts });
      if (failure === null) {
        backup = applyId;
        ctx.sendClient(alertRoutesObject, ctx.key).keep({ applyId, backup });
      }
      return failure;
    },
    record: async (applied) => recordStep(ctx, applyId, applied),
  });
  const fine = ["created", "updated", "in_step", "disabled", "deleted"];
  const result: ApplyResult = {
    apply_id: applyId,
    by,
    started_at: new Date(startedAtMs).toISOString(),
    ended_at: new Date(await ctx.date.now()).toISOString(),
    total: routes.length,
    routes,
    backup,
    doubled,
    outcome: routes.every(({ outcome }) => fine.includes(outcome)) ? "applied" : "stopped",
  };
  ctx.sendClient(alertRoutesObject, ctx.key).finished(result);
  await ctx.run("record-end", () => parts.backups.recordEnd(result));
  return result;
}

/** The settings may have changed since the apply began: a plan for another service is not written. */
function sendFor({ request }: ApplyWork, { send, incidentUrl }: ApplyServiceParts): Send {
  const { incident_url: planned } = request.plan;
  if (planned === incidentUrl) return send;
  return refuseAll(`the plan is for ${planned}, but Vedette uses ${incidentUrl} now`);
}

/** Resolves once the creation is stored, so that a crash after that cannot lose it. */
async function intend(ctx: ObjectContext, creation: Creation): Promise<void> {
  await ctx.client(alertRoutesObject, ctx.key).intend(creation);
}

function recordStep(ctx: ObjectContext, applyId: string, { result, owned }: ApplyStep): void {
  const fields = { route: result.name, outcome: result.outcome, detail: result.message };
  if (result.message === undefined) ctx.console.info("alert route applied", fields);
  else ctx.console.warn("alert route not as planned", fields);
  const step = { applyId, result, ...(owned !== undefined && { owned }) };
  ctx.sendClient(alertRoutesObject, ctx.key).note(step);
}

/** The database may be unavailable for so long before the apply ends; nothing is written until then. */
const backupRetry = { maxRetryDuration: 120_000, maxRetryInterval: 5_000 };

async function saveBackup(
  ctx: ObjectContext,
  {
    applyId,
    by,
    details,
    parts,
  }: Pick<ApplyWork, "applyId" | "by"> & { details: Content[]; parts: ApplyServiceParts },
): Promise<string | null> {
  const made_at = new Date(await ctx.date.now()).toISOString();
  const kept = { incident_url: parts.incidentUrl, made_at, alert_routes: details, by };
  try {
    await ctx.run("save-backup", () => parts.backups.save(applyId, kept), backupRetry);
    return null;
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return `the database did not save it: ${error.message}`;
  }
}

async function check(ctx: ObjectContext, parts: ApplyServiceParts): Promise<DriftReport> {
  const checked_at = new Date(await ctx.date.now()).toISOString();
  const report: DriftReport = { checked_at, ...(await checkDrift(ctx, checked_at, parts)) };
  await ctx.run("show-drift", async () => parts.showDrift(report));
  ctx.sendClient(alertRoutesObject, ctx.key).checked(report);
  return report;
}

async function checkDrift(
  ctx: ObjectContext,
  made_at: string,
  { send, incidentUrl, readRows, readGivenIds }: ApplyServiceParts,
): Promise<Omit<DriftReport, "checked_at">> {
  const reader = createReader(readOnly(send));
  // Few retries: an unknown result is reported soon, and the next check comes anyway.
  const tools = { steps: durable(ctx), retryLimits: retryLimits.terminal };
  const owned = await ctx.client(alertRoutesObject, ctx.key).readOwned({});
  const survey = await readSurvey(reader, tools, idsOf(owned));
  if (survey.kind === "failed") return unknownDrift(survey.reason);
  return ctx.run("judge-drift", async () => {
    try {
      const head = { incident_url: incidentUrl, made_at };
      const rows = await readRows();
      const planned = planRows({ rows, given: readGivenIds(), survey: survey.value, owned }, head);
      return evaluateDrift(planned, owned);
    } catch (error) {
      return unknownDrift((error as Error).message);
    }
  });
}

function idsOf(owned: OwnedRoutes): string[] {
  return Object.values(owned).map(({ id }) => id);
}
