/** `FleetService`: the fleet as a whole. */
import { implement } from "@restatedev/restate-sdk";
import type { z } from "zod";
import { asTerminalError } from "#kernel/terminal.ts";
import { type FleetList, type FleetListRequest, fleetService } from "./contract.ts";
import type { FleetListing } from "./listing.ts";
import type { FleetStore } from "./store.ts";

export type FleetServiceParts = {
  store: Pick<FleetStore, "list">;
  listing: Pick<FleetListing, "confirm" | "problem">;
};

/** How long Postgres or the fleet may be unreachable before the caller is told. */
const patience = { maxRetryDuration: 15_000 };

export function createFleetService({ store, listing }: FleetServiceParts) {
  const read = async (request: z.output<typeof FleetListRequest>): Promise<FleetList> => {
    const sentinels = await store.list(request);
    const problem = await listing.problem();
    const last = sentinels.length === request.limit ? sentinels.at(-1) : undefined;
    return {
      sentinels,
      ...(last !== undefined && { next_cursor: last.id }),
      ...(problem !== null && { list_problem: problem }),
    };
  };
  return implement(fleetService, {
    handlers: {
      List: (ctx, request) => ctx.run("list-sentinels", () => read(request), patience),
      ConfirmList: (ctx, { count }) =>
        ctx.run(
          "confirm-list",
          async () => ({ total: (await listing.confirm(count)).length }),
          patience,
        ),
    },
    options: {
      journalRetention: 0,
      asTerminalError,
    },
  });
}
