/** The fleets by state, counted in Postgres at each scrape. */
import { Gauge, type Registry } from "prom-client";
import { deployStatuses, healths } from "#fleet/contract.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const readTimeoutMs = 2_000;

const everyState = deployStatuses.flatMap((deploy_status) =>
  healths.map((health) => ({ deploy_status, health })),
);

type Count = { fleet: string; deploy_status: string; health: string; sentinels: number };

/** Every worker has the same values. While the database does not answer in time there are none. */
export function exposeMembers(
  database: Database,
  { fleets, registry }: { fleets: readonly string[]; registry: Registry },
): void {
  const read = async (): Promise<Count[] | undefined> =>
    (await database.query<Count>(countMembers, [fleets])).rows;
  new Gauge({
    name: "vedette_fleet_members",
    help: "Known sentinels by the state of their last deploy and by health; progressing: in flight.",
    labelNames: ["fleet", "deploy_status", "health"],
    registers: [registry],
    async collect() {
      const counts = await inTime(read, { limitMs: readTimeoutMs, otherwise: undefined });
      this.reset();
      if (counts === undefined) return;
      for (const fleet of fleets)
        for (const labels of everyState) this.set({ fleet, ...labels }, 0);
      for (const { sentinels, ...labels } of counts) this.set(labels, sentinels);
    },
  });
}

const countMembers = `
  SELECT fleet, deploy_status, health, count(*)::integer AS sentinels FROM sentinels
  WHERE fleet = ANY($1) GROUP BY 1, 2, 3`;
