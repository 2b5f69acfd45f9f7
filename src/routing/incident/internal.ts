/** What the parts of the sync call on each other. */
import { iface } from "@restatedev/restate-sdk";
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

export type ApplyBegun = { applyId: string; invocation: string };

export type ApplyWork = {
  applyId: string;
  startedAtMs: number;
  request: ApplyRequest;
  /** When the apply began. */
  owned: OwnedRoutes;
  /** Absent: a version that wrote down no creations has begun it. */
  creations?: OpenCreations;
};

/** By name, what an apply was about to make. Kept until it is known what came of it. */
export type OpenCreations = Record<string, { begun_at: string; declared: Content }>;

export type Creation = { name: string; declared: Content };

/** `readsOwned`: absent in one that was sent by a version that did not look at our routes by id. */
export type CheckWork = { readsOwned?: true };

/** `owned`: what is known of the route from now on; null: it is none of ours; absent: as before. */
export type RouteNote = { applyId: string; result: RouteResult; owned?: OwnedRoute | null };

/** The one that is asked. Every exclusive handler is short. */
export const alertRoutesObject = iface.object(
  alertRoutesName,
  {
    Status: iface.shared.schemas({
      ...alertRoutesHandlers.Status,
      description: "The apply at work, the last one, drift, and which routes are ours.",
    }),
    Apply: iface.shared.schemas({
      ...alertRoutesHandlers.Apply,
      description: "Applies a plan and answers when it has come to its end.",
    }),
    Backups: iface.shared.schemas({
      ...alertRoutesHandlers.Backups,
      description: "What routes said before each apply: the list, newest first.",
    }),
    Backup: iface.shared.schemas({
      ...alertRoutesHandlers.Backup,
      description: "What routes said before one apply.",
    }),
    begin: iface.json<ApplyRequest, ApplyBegun>(),
    note: iface.json<RouteNote, null>(),
    intend: iface.json<Creation, null>(),
    keep: iface.json<{ applyId: string; backup: string }, null>(),
    finished: iface.json<ApplyResult, null>(),
    lost: iface.json<{ applyId: string; reason: string }, ApplyResult>(),
    start: iface.json<Record<string, never>, null>(),
    /** Of versions whose timer was here; one may still come. It does nothing. */
    tick: iface.json<unknown, null>(),
    /** Exclusive, so that it comes after all that was noted before. */
    readOwned: iface.json<Record<string, never>, OwnedRoutes>(),
    checked: iface.json<DriftReport, null>(),
  },
  { description: "Alert routes kept in step with their rows; the key is singleton." },
);

/** Talks to the incident service. The key's lock keeps two writers, and a check, apart. */
export const alertRoutesRuns = iface.object("vedette.v1.AlertRoutesRunner", {
  apply: iface.json<ApplyWork, ApplyResult>(),
  /** null: of an earlier version. */
  check: iface.json<CheckWork, DriftReport | null>(),
});
