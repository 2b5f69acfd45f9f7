/** Creates the Restate objects and services of rollouts. */
import { randomBytes } from "node:crypto";
import type { Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";
import { createReadActor } from "./actor.ts";
import type { OrderStop } from "./handlers/order-stop.ts";
import type { ResolveImage } from "./handlers/public.ts";
import { showRollout } from "./history/metrics.ts";
import { createHistoryObject } from "./history/object.ts";
import { createHistoryStore } from "./history/store.ts";
import { createRolloutObject } from "./object.ts";
import { batchService } from "./services/batch.ts";
import { createCapture, type ListFleet } from "./services/capture.ts";
import { createRelease, type EndInvocations } from "./services/release.ts";
import { createRunService, type RunSettings } from "./services/run.ts";
import { createReadStrays } from "./services/strays.ts";
import { watchService } from "./services/watch.ts";
import { createWindowService } from "./services/windows.ts";
import type { HeadPolicy } from "./state.ts";
import { createWindowStore } from "./windows/store.ts";

export type RolloutParts = Omit<RunSettings, "readStrays" | "readWindows"> & {
  listFleet: ListFleet;
  resolveImage: ResolveImage;
  knownChecks: readonly string[];
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
  const { listFleet, resolveImage, knownChecks, orders, listForMs = 30_000 } = parts;
  const readActor = createReadActor(parts.actorKey ?? randomBytes(32));
  const history = createHistoryStore(parts.database);
  if (parts.registry !== undefined) showRollout(history, parts.registry);
  const readStrays = createReadStrays({ listFleet, readSucceeded: history.readSucceeded });
  const windows = createWindowStore(parts.database);
  // The driver's own words have addresses.
  const readWindows = () =>
    windows.list().catch((cause: Error) => {
      throw new Error("the database cannot be reached", { cause });
    });
  return [
    createRolloutObject({
      listFleet,
      resolveImage,
      knownChecks,
      orders,
      policy: parts.policy ?? {},
      readActor,
      readHistory: history.list,
      readWindows,
    }),
    createRunService({ ...parts, readStrays, readWindows }),
    batchService,
    createCapture({ listFleet, listForMs }),
    watchService,
    createRelease(parts.endInvocations),
    createHistoryObject(history),
    createWindowService({ windows, readActor }),
  ];
}
