/** The handlers through which the parts of the sync call each other. */
import { iface } from "@restatedev/restate-sdk-core";
import {
  type ApplyRequest,
  type ApplyResult,
  alertRoutesHandlers,
  alertRoutesName,
  type Content,
  type DriftReport,
  type OwnedRoute,
  type RouteResult,
} from "#routing/incident/contract.ts";

export type OwnedRoutes = Record<string, OwnedRoute>;

export type StartedApply = { applyId: string; invocation: string };

export type ApplyWork = {
  applyId: string;
  by: string;
  startedAtMs: number;
  request: ApplyRequest;
  owned: OwnedRoutes;
  creations: OpenCreations;
};

/** Routes, by name, that an apply was about to create. Deleted once the outcome is known. */
export type OpenCreations = Record<string, { begun_at: string; declared: Content }>;

export type Creation = { name: string; declared: Content };

/** `owned`: the route's new record of ownership; null: no longer ours; absent: unchanged. */
export type RouteNote = { applyId: string; result: RouteResult; owned?: OwnedRoute | null };

/** The object that operators call. Every exclusive handler is short. */
export const alertRoutesObject = iface.object(
  alertRoutesName,
  {
    Status: iface.shared.schemas({
      ...alertRoutesHandlers.Status,
      description: "The running apply, the last one, drift, and which routes are ours.",
    }),
    Apply: iface.shared.schemas({
      ...alertRoutesHandlers.Apply,
      description: "Applies a plan and answers when the apply has ended.",
    }),
    Backups: iface.shared.schemas({
      ...alertRoutesHandlers.Backups,
      description: "The backups of routes that were made before each apply, newest first.",
    }),
    Backup: iface.shared.schemas({
      ...alertRoutesHandlers.Backup,
      description: "The routes as they were before one apply.",
    }),
    begin: iface.json<ApplyRequest & { by: string }, StartedApply>(),
    note: iface.json<RouteNote, null>(),
    intend: iface.json<Creation, null>(),
    keep: iface.json<{ applyId: string; backup: string }, null>(),
    finished: iface.json<ApplyResult, null>(),
    lost: iface.json<{ applyId: string; reason: string }, ApplyResult>(),
    start: iface.json<Record<string, never>, null>(),
    /** Exclusive, so that it runs after every `note` that was sent before. */
    readOwned: iface.json<Record<string, never>, OwnedRoutes>(),
    checked: iface.json<DriftReport, null>(),
  },
  { description: "Alert routes kept in step with their rows; the key is singleton." },
);

/** Calls the incident service. The lock of its key lets one apply or drift check run at a time. */
export const alertRoutesRuns = iface.object("vedette.v1.AlertRoutesRunner", {
  apply: iface.json<ApplyWork, ApplyResult>(),
  check: iface.json<Record<string, never>, DriftReport>(),
});
