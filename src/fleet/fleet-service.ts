/** `FleetService`: each fleet as a whole. */
import { implement } from "@restatedev/restate-sdk";
import type { z } from "zod";
import { type Actor, nameOf, type ReadActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { noSuch } from "#kernel/text.ts";
import {
  defaultFleet,
  type FleetList,
  type FleetListRequest,
  type FleetProblemCode,
  fleetOfSentinel,
  fleetService,
} from "./contract.ts";
import type { FleetDrift } from "./drift-contract.ts";
import type { FleetListing } from "./listing.ts";
import type { ReadLog } from "./logs/read.ts";
import type { FleetStore } from "./store.ts";

export type FleetServiceParts = {
  store: Pick<FleetStore, "list">;
  /** By the fleet's name. */
  listings: ReadonlyMap<string, Pick<FleetListing, "confirm" | "problem" | "confirmation">>;
  readLog: ReadLog;
  readDrift: (fleet: string) => Promise<FleetDrift>;
  readActor: ReadActor;
  /** Throws a `ProblemError` for a caller who may not change the fleet, nor read its logs. */
  requireOperator: (actor: Actor, fleet: string) => void;
};

const sentinels = databaseRead("list-sentinels", {
  limitMs: 5_000,
  problem: "the sentinels cannot be listed",
});

const drift = databaseRead("read-drift", { limitMs: 5_000, problem: "drift cannot be read" });

const log = databaseRead("read-log", { limitMs: 15_000, problem: "the log cannot be read" });

/** A long limit, because it writes: after a timeout it could still take effect although its call failed. */
const confirmation = {
  name: "confirm-list",
  limitMs: 330_000,
  describe: ({ message }: Error) => `the fleet cannot be listed now (${message})`,
};

export function createFleetService({
  store,
  listings,
  readLog,
  readDrift,
  readActor,
  requireOperator,
}: FleetServiceParts) {
  const listingOf = (fleet: string) => {
    const listing = listings.get(fleet);
    if (listing === undefined) {
      const detail = noSuch("fleet", fleet, [...listings.keys()]);
      throw new ProblemError<FleetProblemCode>({ status: 404, code: "unknown_fleet", detail });
    }
    return listing;
  };
  const read = async (request: z.output<typeof FleetListRequest>): Promise<FleetList> => {
    const { fleet = defaultFleet } = request;
    const listing = listingOf(fleet);
    const page = await store.list({ ...request, fleet });
    const problem = await listing.problem();
    const confirmed = await listing.confirmation();
    const last = page.length === request.limit ? page.at(-1) : undefined;
    return {
      sentinels: page,
      ...(last !== undefined && { next_cursor: last.id }),
      ...(problem !== null && { list_problem: problem }),
      ...(confirmed !== null && { list_confirmed: confirmed }),
    };
  };
  return implement(fleetService, {
    handlers: {
      List: (ctx, request) => readNow(ctx, sentinels, () => read(request)),
      Drift: (ctx, { fleet = defaultFleet }) =>
        readNow(ctx, drift, () => {
          listingOf(fleet);
          return readDrift(fleet);
        }),
      ConfirmList: async (ctx, { count, fleet = defaultFleet }) => {
        const actor = readActor(ctx);
        const by = nameOf(actor);
        const confirm = async () => {
          requireOperator(actor, fleet);
          return (await listingOf(fleet).confirm(count, by)).length;
        };
        const confirmed = await readNow(ctx, confirmation, async () => ({
          total: await confirm(),
        }));
        ctx.console.info("fleet list confirmed", { by, fleet, ...confirmed });
        return confirmed;
      },
      Log: (ctx, request) => {
        const actor = readActor(ctx);
        return readNow(ctx, log, async () => {
          requireOperator(actor, fleetOfSentinel(request.sentinel, [...listings.keys()]));
          return readLog(request);
        });
      },
    },
    options: {
      journalRetention: 0,
      asTerminalError,
      handlers: { List: unkept, Drift: unkept, Log: unkept },
    },
  });
}
