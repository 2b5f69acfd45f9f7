/** Creates the Restate objects and services of rollouts. */
import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import type { FleetMember } from "#fleet/contract.ts";
import { createReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { leaveOut, reasonOf } from "./choice/leave-out.ts";
import { createPinStore } from "./choice/store.ts";
import type { OrderStop } from "./handlers/order-stop.ts";
import type { ResolveImage } from "./handlers/public.ts";
import { showRollout } from "./history/metrics.ts";
import { createHistoryObject } from "./history/object.ts";
import { createHistoryStore } from "./history/store.ts";
import { createRolloutObject } from "./object.ts";
import type { GateChecks } from "./rules/gate-checks.ts";
import { createBatchService } from "./services/batch/batch.ts";
import type { ReadPinned } from "./services/batch/pin-watch.ts";
import { createCapture, type ListFleet } from "./services/capture.ts";
import { createPinService } from "./services/pins.ts";
import { createRelease, type EndInvocations } from "./services/release.ts";
import { createRunService, type RunSettings } from "./services/run.ts";
import { createReadStrays } from "./services/strays.ts";
import { watchService } from "./services/watch.ts";
import { createWindowService } from "./services/windows.ts";
import type { HeadPolicy } from "./state.ts";
import { createWindowStore } from "./windows/store.ts";

export type RolloutParts = Omit<RunSettings, "readStrays" | "readWindows"> & {
  listFleet: ListFleet;
  /** Those of these sentinels that are known. */
  readMembers: (ids: readonly string[]) => Promise<FleetMember[]>;
  resolveImage: ResolveImage;
  readGateChecks: () => Promise<GateChecks>;
  orders: OrderStop;
  /** What the settings say, for what a request leaves out. */
  policy?: HeadPolicy;
  database: Database;
  endInvocations: EndInvocations;
  /** Absent: there are no metrics of the newest rollout. */
  registry?: Registry;
  /** The key with which the gateway signs callers' names; absent: no name is trusted. */
  actorKey?: Uint8Array;
  /** How long the fleet may be unreachable at the start of a rollout. */
  listForMs?: number;
};

export function createRolloutServices(parts: RolloutParts) {
  const {
    listFleet,
    readMembers,
    resolveImage,
    readGateChecks,
    orders,
    listForMs = 30_000,
  } = parts;
  const readActor = createReadActor(parts.actorKey ?? randomBytes(32));
  const history = createHistoryStore(parts.database);
  if (parts.registry !== undefined) showRollout(history, parts.registry);
  const readStrays = createReadStrays({ listFleet, readSucceeded: history.readSucceeded });
  const windows = createWindowStore(parts.database);
  const pins = createPinStore(parts.database);
  const readWindows = () => ofDatabase(windows.list());
  const readPins = () => ofDatabase(pins.list());
  const readPinned: ReadPinned = async (ids) => {
    const all = await readPins();
    if (all.length === 0) return [];
    const known = new Map((await readMembers(ids)).map((member) => [member.id, member]));
    // One that the fleet does not list any more can still be pinned by its id.
    const members = ids.map((id) => known.get(id) ?? { ...unlisted, id });
    const { leftOut } = leaveOut(members, { pins: all, nowMs: Date.now() });
    return leftOut.map((one) => ({ id: one.id, reason: reasonOf(one) }));
  };
  return [
    createRolloutObject({
      listFleet,
      resolveImage,
      readGateChecks,
      orders,
      policy: parts.policy ?? {},
      readActor,
      readHistory: history.list,
      readWindows,
      readPins,
    }),
    createRunService({ ...parts, readStrays, readWindows }),
    createBatchService(readPinned),
    createCapture({ listFleet, readPins, listForMs }),
    watchService,
    createRelease(parts.endInvocations),
    createHistoryObject(history),
    createWindowService(windows, readActor),
    createPinService(pins, readActor),
  ];
}

const unlisted = { region: "", image: "", running_image: "", health: "unhealthy" } as const;

/** The driver's own words have addresses. */
function ofDatabase<Answer>(reading: Promise<Answer>): Promise<Answer> {
  return reading.catch((cause: Error) => {
    throw new Error("the database cannot be reached", { cause });
  });
}
