/** `FleetService`: the fleet as a whole. */
import { implement } from "@restatedev/restate-sdk";
import type { z } from "zod";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { type FleetList, type FleetListRequest, fleetService } from "./contract.ts";
import type { FleetListing } from "./listing.ts";
import type { FleetStore } from "./store.ts";

export type FleetServiceParts = {
  store: Pick<FleetStore, "list">;
  listing: Pick<FleetListing, "confirm" | "problem" | "confirmation">;
  readActor: ReadActor;
};

const sentinels = databaseRead("list-sentinels", {
  limitMs: 5_000,
  problem: "the sentinels cannot be listed",
});

/** A long limit, because it writes: after a timeout it could still take effect although its call failed. */
const confirmation = {
  name: "confirm-list",
  limitMs: 330_000,
  describe: ({ message }: Error) => `the fleet cannot be listed now (${message})`,
};

export function createFleetService({ store, listing, readActor }: FleetServiceParts) {
  const read = async (request: z.output<typeof FleetListRequest>): Promise<FleetList> => {
    const page = await store.list(request);
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
      ConfirmList: async (ctx, { count }) => {
        const by = nameOf(readActor(ctx));
        const confirmed = await readNow(ctx, confirmation, async () => ({
          total: (await listing.confirm(count, by)).length,
        }));
        ctx.console.info("fleet list confirmed", { by, ...confirmed });
        return confirmed;
      },
    },
    options: {
      journalRetention: 0,
      asTerminalError,
    },
  });
}
