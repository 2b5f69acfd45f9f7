/** The interface between bench/peers.ts and an engine. */
import { createTestListing } from "../test/support/rollout/fleet-listing.ts";
import type { Fleet, Servers } from "./fixture.ts";

export type Engine = {
  name: string;
  run: (image: string) => Promise<void>;
  /** Deletes the engine's data of finished rollouts; not timed. */
  tidy?: () => Promise<unknown>;
};

export type EngineParts = {
  servers: Servers;
  /** The sentinels of the fleet, after the table was synchronized with it. */
  listIds: () => Promise<string[]>;
  /** A deploy like that of our own service, without the service. Throws unless the sentinel becomes ready. */
  deploy: (sentinelId: string, image: string) => Promise<string>;
};

export type StartEngines = (parts: EngineParts) => Promise<Engine[]>;

export function createEngineParts(servers: Servers, fleet: Fleet): EngineParts {
  return {
    servers,
    listIds: async () =>
      (await createTestListing(servers.database, fleet.driver).list()).map(({ id }) => id),
    async deploy(sentinelId, image) {
      const order = { sentinelId, image, deployId: `${image}/${sentinelId}` };
      const { status } = await servers.deployer.start(order, 60_000);
      if (status !== "ready") throw new Error(`${sentinelId} is ${status}`);
      return status;
    },
  };
}
