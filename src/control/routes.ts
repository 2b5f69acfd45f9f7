/** The allow-list: the gateway forwards a call only if it matches a row here. */
import type { z } from "zod";
import { alertEventHandlers, alertEvents } from "#alerts/contract.ts";
import { cronHandlers, cronJobs, cronServiceName } from "#cron/contract.ts";
import { definitionsHandlers, definitionsKey, definitionsService } from "#definitions/contract.ts";
import {
  ConfirmListRequest,
  FleetDriftRequest,
  FleetListRequest,
  fleetService,
  SentinelLogRequest,
} from "#fleet/contract.ts";
import { NotifyReadyRequest, sentinelService } from "#fleet/deploys/contract.ts";
import { type Caller, isAllowed, type Role } from "#kernel/roles.ts";
import { drillHandlers, drillService } from "#monitor/drills/contract.ts";
import {
  apiCheckHandlers,
  apiCheckService,
  heartbeatHandlers,
  heartbeatService,
  runnerHandlers,
  runnerService,
} from "#monitor/operations/contract.ts";
import { checkReaders, checkReads } from "#monitor/results/contract.ts";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import { blockingHandlers, rolloutHandlers, rolloutServiceName } from "#rollout/contract.ts";
import { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import { proofHandlers, proofsName } from "#rollout/proof/contract.ts";
import { replayHandlers, replayName } from "#rollout/replay/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import {
  alertRoutesHandlers,
  alertRoutesKey,
  alertRoutesName,
} from "#routing/incident/contract.ts";
import { statusHandlers, statusReads } from "#status/contract.ts";
import { engineHandlers, engineService } from "#worker/contract.ts";

export type Route = {
  /** Matched against the raw path, before anything is decoded. */
  path: RegExp;
  input: z.ZodType;
  /** True if the call changes something: it carries an idempotency key, so that it is made once. Others are repeated. */
  isWrite: boolean;
  /** True if the call answers only when its work is over, which may take hours. */
  blocks: boolean;
  /** Absent: `operate` for a write, else `read`. `configure`: changes what is watched, or destinations (docs/access.md). */
  role?: Role;
};

/** Matches `FleetName`. The worker knows which fleets there are: one may have a rollout that the settings have lost. */
const fleetName = "[a-z][a-z0-9_-]{0,39}";

const readers = new Set(["Status", "Plan", "History"]);
const blocking = new Set<string>(blockingHandlers);

/** A path segment of one or two dots is resolved before it arrives, even when the dots are encoded. */
const dots = "(?:\\.|%2[eE]){1,2}";

/** Rows that operators list, add and remove. */
function rows(service: string, handlers: Record<string, { input: z.ZodType }>): Route[] {
  return Object.entries(handlers).map(([handler, { input }]) => ({
    path: exactly(`/${service}/${handler}`),
    input,
    isWrite: handler !== "List",
    blocks: false,
  }));
}

export const routes: readonly Route[] = [
  ...Object.entries(rolloutHandlers).map(([handler, { input }]) => ({
    path: new RegExp(`^/${escapeDots(rolloutServiceName)}/${fleetName}/${handler}(?:/send)?$`),
    input,
    isWrite: !readers.has(handler),
    blocks: blocking.has(handler),
    ...(handler === "Approve" && { role: "approve" as const }),
  })),
  ...rows(windowsName, windowHandlers),
  ...rows(pinsName, pinHandlers),
  ...rows(promotionsName, promotionHandlers),
  {
    path: exactly(`/${proofsName}/Read`),
    input: proofHandlers.Read.input,
    isWrite: false,
    blocks: false,
  },
  {
    path: exactly(`/${replayName}/Replay`),
    input: replayHandlers.Replay.input,
    isWrite: false,
    blocks: false,
  },
  {
    path: exactly(`/${fleetService.name}/List`),
    input: FleetListRequest,
    isWrite: false,
    blocks: false,
  },
  {
    path: exactly(`/${fleetService.name}/Drift`),
    input: FleetDriftRequest,
    isWrite: false,
    blocks: false,
  },
  {
    path: exactly(`/${fleetService.name}/ConfirmList`),
    input: ConfirmListRequest,
    isWrite: true,
    blocks: false,
  },
  {
    path: exactly(`/${fleetService.name}/Log`),
    input: SentinelLogRequest,
    isWrite: false,
    // A log may have data of people, and what was missed when secrets were masked.
    role: "operate",
    blocks: false,
  },
  ...cronJobs.flatMap((job) =>
    Object.entries(cronHandlers).map(([handler, { input }]) => ({
      path: exactly(`/${cronServiceName}/${job}/${handler}`),
      input,
      isWrite: handler === "Run",
      blocks: handler === "Run",
    })),
  ),
  ...Object.entries(engineHandlers).map(([handler, { input }]) => ({
    path: exactly(`/${engineService.name}/${handler}`),
    input,
    isWrite: handler === "Adopt" || handler === "Retry",
    blocks: false,
    // A reason quotes other programs.
    ...(handler === "Troubled" && { role: "operate" as const }),
  })),
  {
    path: exactly(`/${statusReads.name}/Read`),
    input: statusHandlers.Read.input,
    isWrite: false,
    blocks: false,
  },
  ...Object.entries(checkReaders).map(([handler, { input }]) => ({
    path: exactly(`/${checkReads.name}/${handler}`),
    input,
    isWrite: false,
    blocks: false,
  })),
  ...[
    { service: apiCheckService, handlers: apiCheckHandlers },
    { service: heartbeatService, handlers: heartbeatHandlers },
  ].flatMap(({ service, handlers }) =>
    Object.entries(handlers).map(([handler, { input }]) => ({
      path: ofCheck(service, handler),
      input,
      // A run is neither recorded nor told to anybody, but it is a request to what is checked.
      isWrite: handler !== "Run",
      // Whoever registers holds the token that reports the job's runs from then on.
      role: handler === "Register" ? ("configure" as const) : ("operate" as const),
      blocks: false,
    })),
  ),
  {
    path: ofCheck(drillService, "Run"),
    input: drillHandlers.Run.input,
    isWrite: true,
    blocks: false,
  },
  ...Object.entries(definitionsHandlers).map(([handler, { input }]) => ({
    path: exactly(`/${definitionsService}/${definitionsKey}/${handler}`),
    input,
    isWrite: handler === "Apply",
    blocks: false,
    ...(handler === "Apply" && { role: "configure" as const }),
  })),
  ...Object.entries(runnerHandlers).map(([handler, { input }]) => ({
    path: exactly(`/${runnerService}/${handler}`),
    input,
    isWrite: handler !== "List",
    blocks: false,
    ...(handler !== "List" && { role: "configure" as const }),
  })),
  ...Object.entries(alertEventHandlers).map(([handler, { input }]) => ({
    path: exactly(`/${alertEvents.name}/${handler}`),
    input,
    isWrite: handler === "Retry" || handler === "Test",
    // Two attempts may take longer than an ordinary call may.
    blocks: handler === "Test",
  })),
  ...Object.entries(alertRoutesHandlers).map(([handler, { input }]) => ({
    path: exactly(`/${alertRoutesName}/${alertRoutesKey}/${handler}`),
    input,
    isWrite: handler === "Apply",
    blocks: handler === "Apply",
    ...(handler === "Apply" && { role: "configure" as const }),
  })),
  {
    // A push from the platform that runs a sentinel; its id is one path segment, and not of dots alone.
    path: new RegExp(
      `^/${escapeDots(sentinelService.name)}/(?!${dots}/)[\\w.~%:-]{1,341}/NotifyReady(?:/send)?$`,
    ),
    input: NotifyReadyRequest,
    isWrite: true,
    role: "notify",
    blocks: false,
  },
];

/** Start of the path of every service. Most requests are pings and of the console, and are not compared with each row. */
const servicePrefix = "/vedette.";

export function findRoute(path: string): Route | undefined {
  if (!path.startsWith(servicePrefix)) return undefined;
  return routes.find((route) => route.path.test(path));
}

/** Returns the role that a call of this row requires. */
export function roleOf({ role, isWrite }: Route): Role {
  return role ?? (isWrite ? "operate" : "read");
}

/** True if calls of this row are recorded in the audit log: changes by operators, and not by the platforms of sentinels. */
export function isRecorded({ isWrite, role }: Route): boolean {
  return isWrite && role !== "notify";
}

/**
 * The name that signs a call. undefined: the handler of a plan leads whoever may only look to no registry of a private
 * network, and does not say which secrets are set.
 */
export function signedName(caller: Caller, path: string): string | undefined {
  const isPlan = /\/Plan(?:\/send)?$/.test(path);
  const wanted = fleetOf(path) === undefined ? "configure" : "operate";
  return isPlan && !isAllowed(caller, wanted) ? undefined : caller.actor;
}

/** True if a call at this path is answered only when its work is over, which may take hours. */
export function isBlocking(path: string): boolean {
  return findRoute(path)?.blocks === true && !isSend(path);
}

/** The fleet whose rollout a path is about; undefined: it is about something else. */
export function fleetOf(path: string): string | undefined {
  const [, service, key] = path.split("/");
  return service === rolloutServiceName ? key : undefined;
}

export function isSend(path: string): boolean {
  return path.endsWith("/send");
}

function exactly(path: string): RegExp {
  return new RegExp(`^${escapeDots(path)}(?:/send)?$`);
}

/** The id of a check is one path segment. */
function ofCheck(service: string, handler: string): RegExp {
  return new RegExp(`^/${escapeDots(service)}/[a-z0-9-]{1,100}/${handler}(?:/send)?$`);
}

function escapeDots(text: string): string {
  return text.replaceAll(".", "\\.");
}
