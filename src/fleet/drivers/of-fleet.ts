/** Gives the sentinels of a fleet ids that no other fleet has. */
import { defaultFleet, fleetOfSentinel, qualifiedId } from "#fleet/contract.ts";
import { type DeployOrder, type Driver, UnreachableError } from "./driver.ts";

/** `fleets`: the names of all fleets. */
type FleetNames = { fleet: string; fleets: readonly string[] };

/** The driver knows its own ids; everybody else those with the fleet's name before them. */
export function driverOfFleet(driver: Driver, { fleet, fleets }: FleetNames): Driver {
  const prefix = qualifiedId(fleet, "");
  const own = <Order extends Pick<DeployOrder, "sentinelId">>(order: Order): Order => ({
    ...order,
    sentinelId: order.sentinelId.slice(prefix.length),
  });
  const { readLog, readCounters } = driver;
  return {
    ...driver,
    ...(readLog && { readLog: (source, call) => readLog(own(source), call) }),
    ...(readCounters && {
      readCounters: async (signal) => {
        const counters = await readCounters(signal);
        return new Map([...counters].map(([id, one]) => [`${prefix}${id}`, one]));
      },
    }),
    list: async (signal) => {
      const listed = await driver.list(signal);
      if (fleet === defaultFleet) refuseTaken(listed, fleets);
      return listed.map((sentinel) => ({ ...sentinel, id: `${prefix}${sentinel.id}` }));
    },
    apply: (order, call) => driver.apply(own(order), call),
    observe: (order, call) => driver.observe(own(order), call),
  };
}

/** Only the default fleet's ids have no name before them. */
function refuseTaken(listed: readonly { id: string }[], fleets: readonly string[]): void {
  const taken = listed.find(({ id }) => fleetOfSentinel(id, fleets) !== defaultFleet);
  if (taken === undefined) return;
  throw new UnreachableError(
    `config_invalid: the default fleet lists ${taken.id}, which is the id of a sentinel of another fleet: give one of the two another name`,
  );
}
