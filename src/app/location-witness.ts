/** The witnesses of this process's location, by the settings. */
import { Gauge, type Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Log } from "#kernel/log.ts";
import { readWitness } from "#monitor/config.ts";
import { createWitness, type Witness } from "#monitor/probe/witness.ts";

/** `registry`: of the metrics; absent: the process has none. */
export function createLocationWitness(
  { witness }: Pick<Config["monitor"], "witness">,
  log: Log,
  registry?: Registry,
): Witness {
  const gauge =
    registry &&
    new Gauge({
      name: "vedette_monitor_network_lost",
      help: "1 while none of the witnesses answers: runs here that reach nothing do not count.",
      registers: [registry],
    });
  return createWitness({
    addresses: witness.flatMap((address) => readWitness(address) ?? []),
    onChange(isLost) {
      gauge?.set(isLost ? 1 : 0);
      if (isLost) log.warn("no witness answers: runs here that reach nothing do not count");
      else log.info("the network of this location is back");
    },
    nowMs: Date.now,
  });
}
