/** What bench/peers.ts has of an engine, and what it gives to each. */
import { createTestListing } from "../test/support/rollout/fleet-listing.ts";
import type { Fleet, Servers } from "./fixture.ts";

export type Engine = {
  name: string;
  run: (image: string) => Promise<void>;
  /** Forgets what it keeps of finished rollouts; not timed. */
  tidy?: () => Promise<unknown>;
};

export type EngineParts = {
  servers: Servers;
  /** The sentinels of the fleet, once the table is in step with it. */
  listIds: () => Promise<string[]>;
  /** A deploy as our own service does it, without the service. Throws unless it is ready. */
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
      const { status } = await servers.deployer.begin(order, 60_000);
      if (status !== "ready") throw new Error(`${sentinelId} is ${status}`);
      return status;
    },
  };
}
