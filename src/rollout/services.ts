/** Creates the Restate objects and services of rollouts. */
import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import type { ExplainPause } from "#blame/contract.ts";
import type { FleetMember } from "#fleet/contract.ts";
import type { FindOrdered, StartDeploys } from "#fleet/deploys/contract.ts";
import type { FleetDrift, OnDrift } from "#fleet/drift-contract.ts";
import { createReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import { readPatiently } from "#kernel/read-now.ts";
import { leaveOut, reasonOf } from "#rollout/choice/leave-out.ts";
import { createPinStore } from "#rollout/choice/store.ts";
import { exposeDrift } from "#rollout/desired/metrics.ts";
import { createReconciler } from "#rollout/desired/reconciler.ts";
import { createDesiredStore } from "#rollout/desired/store.ts";
import type { OrderStop } from "#rollout/handlers/stop.ts";
import { createHistoryObject } from "#rollout/history/object.ts";
import { createHistoryStore } from "#rollout/history/store.ts";
import { createPromotionStore, type PromotionStore } from "#rollout/promotions/store.ts";
import { createProofService } from "#rollout/proof/service.ts";
import { createProofStore } from "#rollout/proof/store.ts";
import { createReplayService } from "#rollout/replay/service.ts";
import { createReadFacts, type ReadRuns } from "#rollout/replay/store.ts";
import { createReadStrays, type ReadWindows } from "#rollout/services/poll.ts";
import {
  createPinService,
  createPromotionService,
  createWindowService,
} from "#rollout/services/rows.ts";
import { createWatch } from "#rollout/services/watch.ts";
import { createWindowStore } from "#rollout/windows/store.ts";
import { createFleets, type RolloutFleet } from "./fleets.ts";
import { createCompareImages, type ReadCounts } from "./gates/compare-images.ts";
import type { GateTools, ReadGateTargets } from "./gates/kind.ts";
import { createQueryPrometheus } from "./gates/query-prometheus.ts";
import { exposeRollouts } from "./history/metrics.ts";
import { createRolloutObject } from "./object.ts";
import type { Listed, RowStore } from "./row-store.ts";
import { createBatchService } from "./services/batch/batch.ts";
import type { ReadPinned } from "./services/batch/pin-watch.ts";
import { createCapture, type ReadPins } from "./services/capture.ts";
import { createRelease, type EndInvocations } from "./services/release.ts";
import { holdsFor } from "./services/rows.ts";
import { createRunService } from "./services/run.ts";

export type RolloutParts = {
  /** The default one first. */
  fleets: readonly RolloutFleet[];
  /** Returns those of these sentinels that are known. */
  readMembers: (ids: readonly string[]) => Promise<FleetMember[]>;
  /** Reads past runs of checks, for replays. */
  readRuns: ReadRuns;
  gateTools: Omit<GateTools, "queryPrometheus" | "compareImages">;
  /** Reads what sentinels have counted in spans of minutes. */
  readCounts: ReadCounts;
  readGateTargets: ReadGateTargets;
  orders: OrderStop;
  startDeploys: StartDeploys;
  findOrdered: FindOrdered;
  database: Database;
  endInvocations: EndInvocations;
  /** Absent: a pause is not explained. */
  explainPause?: ExplainPause;
  /** Absent: there are no metrics of the newest rollouts. */
  registry?: Registry;
  /** The key with which the gateway signs callers' names; absent: no name is trusted. */
  actorKey?: Uint8Array;
  /** The limit for listing the fleet, at the start of a rollout and after a pause. */
  listForMs?: number;
};

export function createRolloutServices(parts: RolloutParts) {
  const { gateTools: tools, readGateTargets, orders, listForMs = 30_000 } = parts;
  const { actorKey = randomBytes(32) } = parts;
  const readActor = createReadActor(actorKey);
  const fleets = createFleets(parts.fleets);
  const access = { readActor, fleets };
  const history = createHistoryStore(parts.database, parts.explainPause);
  if (parts.registry !== undefined) {
    exposeRollouts(history, { fleets: fleets.names, registry: parts.registry });
    exposeDrift(parts.database, { fleets: fleets.names, registry: parts.registry });
  }
  const { database, readCounts } = parts;
  const compareImages = createCompareImages({ database, readCounts, nowMs: Date.now });
  const readStrays = createReadStrays({ fleets, readSucceeded: history.readSucceeded });
  const windows = createWindowStore(parts.database);
  const pins = createPinStore(parts.database);
  const promotions = createPromotionStore(parts.database);
  const readWindows: ReadWindows = (fleet) => holding(windows, fleet);
  const readPins = (fleet: string) => holding(pins, fleet);
  const readPinned = createReadPinned(readPins, parts.readMembers);
  const settingsOf = (name: string) => {
    const fleet = fleets.get(name);
    const queryPrometheus = createQueryPrometheus(fleet.prometheus);
    const ownTools = { ...tools, queryPrometheus, compareImages };
    return { ...fleet, tools: ownTools, readStrays, readWindows };
  };
  return [
    createRolloutObject({
      fleets,
      readGateTargets: (how) => orUnavailable("the gates are", () => readGateTargets(how)),
      orders,
      readActor,
      readHistory: history.list,
      readWindows,
      readPins,
      promotions: {
        // With one fleet alone the database is not needed.
        before: async (fleet) => (fleets.names.length > 1 ? readBefore(promotions, fleet) : []),
        hasCompleted: history.hasCompleted,
      },
    }),
    createRunService(settingsOf),
    createBatchService({
      readPinned,
      startDeploys: parts.startDeploys,
      findOrdered: parts.findOrdered,
    }),
    createCapture({ fleets, readPins, listForMs }),
    createWatch(fleets, listForMs),
    createRelease({ endInvocations: parts.endInvocations, fleets }),
    createHistoryObject(history),
    createReconciler({
      ...{ fleets, pins, readPins, readPinned, settingsOf, actorKey, readGateTargets },
      store: createDesiredStore(parts.database),
    }),
    createWindowService(windows, access),
    createPinService(pins, access),
    createPromotionService(promotions, access),
    createProofService(createProofStore(database, Date.now)),
    createReplayService({
      readFacts: createReadFacts({ ...parts, nowMs: Date.now }),
      readGateTargets,
    }),
  ];
}

/** The rows that hold for a fleet. */
async function holding<Row extends { fleet?: string | undefined }>(
  store: RowStore<Row>,
  fleet: string,
): Promise<Listed<Row>[]> {
  return (await ofDatabase(store.list())).filter((row) => holdsFor(row, fleet));
}

/** Returns how `FleetService.Drift` reads a fleet's drift. */
export function createReadDrift(database: Database, onDriftOf: (fleet: string) => OnDrift) {
  const store = createDesiredStore(database);
  const pins = createPinStore(database);
  return async (fleet: string): Promise<FleetDrift> => {
    const known = (await pins.list()).filter((pin) => holdsFor(pin, fleet));
    return store.read(fleet, { pins: known, onDrift: onDriftOf(fleet) });
  };
}

/** The limit of a Rollout's wait for the database that holds the order of fleets and the gates. */
const rowsLimitMs = 5_000;

async function readBefore(store: PromotionStore, fleet: string): Promise<string[]> {
  const rows = await orUnavailable("which fleets take an image first is", () =>
    holding(store, fleet),
  );
  return [...new Set(rows.map(({ after }) => after))];
}

/** Throws a 503 for rows that cannot be read; `subject`: with its verb. */
async function orUnavailable<Rows>(subject: string, read: () => Promise<Rows>): Promise<Rows> {
  return readPatiently(rowsLimitMs, read).catch((cause: Error) => {
    const detail = `the database cannot be reached: ${subject} not known; try again in a moment`;
    throw new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
  });
}

function createReadPinned(readPins: ReadPins, readMembers: RolloutParts["readMembers"]) {
  const readPinned: ReadPinned = async (ids, fleet) => {
    const all = await readPins(fleet);
    if (all.length === 0) return [];
    const known = new Map((await readMembers(ids)).map((member) => [member.id, member]));
    // One that the fleet does not list any more can still be pinned by its id.
    const members = ids.map((id) => known.get(id) ?? { ...unlisted, id });
    const { leftOut } = leaveOut(members, { pins: all, nowMs: Date.now() });
    return leftOut.map((one) => ({ id: one.id, reason: reasonOf(one) }));
  };
  return readPinned;
}

const unlisted = { region: "", image: "", running_image: "", health: "unhealthy" } as const;

/** The driver's own words have addresses. */
function ofDatabase<Answer>(reading: Promise<Answer>): Promise<Answer> {
  return reading.catch((cause: Error) => {
    throw new Error("the database cannot be reached", { cause });
  });
}
