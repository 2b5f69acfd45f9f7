/** Reads the counters of a fleet's sentinels by queries at its Prometheus, which has them of any driver. */
import type { FleetConfig } from "#fleet/config.ts";
import { boundCounters, type Snapshot } from "./counters.ts";
import type { ReadCounters } from "./recorder.ts";

/** Returns values by a label. Throws if there is no answer. */
export type QueryByLabel = (query: string, label: string) => Promise<ReadonlyMap<string, number>>;

type Queries = Omit<FleetConfig["counters"], "source">;

/** `idOf`: of the label's value. A sentinel without requests is absent; one without errors has none. */
export function createReadByQueries(
  { label, ...queries }: Queries,
  { query, idOf }: { query: QueryByLabel; idOf: (name: string) => string },
): ReadCounters {
  const ask = async (text: string) => (text === "" ? new Map() : query(text, label));
  return async (): Promise<Snapshot> => {
    const { requests, errors, slow, restarts } = queries;
    const [all, failed, late, again] = await Promise.all(
      [requests, errors, slow, restarts].map(ask),
    );
    const counters = [...(all as ReadonlyMap<string, number>)].flatMap(([name, count]) => {
      const read = boundCounters({
        requests: count,
        errors: failed?.get(name) ?? 0,
        slow: late?.get(name),
        restarts: again?.get(name),
      });
      return read === undefined ? [] : [[idOf(name), read] as const];
    });
    return new Map(counters);
  };
}
