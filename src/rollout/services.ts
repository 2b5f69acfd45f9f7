/** Creates the Restate objects and services of rollouts. */
import { randomBytes } from "node:crypto";
import type { Database } from "#kernel/database.ts";
import { createReadActor } from "./actor.ts";
import type { OrderStop } from "./handlers/order-stop.ts";
import type { ResolveImage } from "./handlers/public.ts";
import { createHistoryObject } from "./history/object.ts";
import { createHistoryStore } from "./history/store.ts";
import { createRolloutObject } from "./object.ts";
import { batchService } from "./services/batch.ts";
import { createCapture, type ListFleet } from "./services/capture.ts";
import { createRelease, type EndInvocations } from "./services/release.ts";
import { createRunService, type RunSettings } from "./services/run.ts";
import { watchService } from "./services/watch.ts";

export type RolloutParts = RunSettings & {
  listFleet: ListFleet;
  resolveImage: ResolveImage;
  knownChecks: readonly string[];
  orders: OrderStop;
  database: Database;
  endInvocations: EndInvocations;
  /** The key with which the gateway signs callers' names; absent: no name is trusted. */
  actorKey?: Uint8Array;
  /** How long the fleet may be unreachable at the start of a rollout. */
  listForMs?: number;
};

export function createRolloutServices(parts: RolloutParts) {
  const { listFleet, resolveImage, knownChecks, orders, listForMs = 30_000 } = parts;
  const readActor = createReadActor(parts.actorKey ?? randomBytes(32));
  const history = createHistoryStore(parts.database);
  return [
    createRolloutObject({
      listFleet,
      resolveImage,
      knownChecks,
      orders,
      readActor,
      readHistory: history.list,
    }),
    createRunService(parts),
    batchService,
    createCapture({ listFleet, listForMs }),
    watchService,
    createRelease(parts.endInvocations),
    createHistoryObject(history),
  ];
}
