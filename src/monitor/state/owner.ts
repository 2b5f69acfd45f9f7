/** The owner of the states of checks and heartbeats: decides them in Postgres, and from memory while that is away. */
import type { RunCheck } from "#monitor/probe/run-check.ts";
import { createProbeHere } from "#monitor/probe/service.ts";
import type { Witness } from "#monitor/probe/witness.ts";
import { createOutage, type OutageParts } from "./outage.ts";
import { createStates, type StateParts } from "./store.ts";

type Parts = Omit<StateParts, "probe" | "remember"> &
  Pick<OutageParts, "sendNow" | "outageLimitMs"> & {
    runCheck: RunCheck;
    /** Absent: every result of this location counts. */
    witness?: Witness;
    /** The address of the API that checks call by a path. */
    baseUrl?: string;
  };

export function createOwner(parts: Parts) {
  const probe = createProbeHere(parts);
  const outage = createOutage({
    ...parts,
    probe,
    change: (id, change) => states.change(id, change),
  });
  const states = createStates({
    ...parts,
    probe: (check, scheduledAtMs) => probe(check, scheduledAtMs, states.report),
    remember: outage.remember,
  });
  return { states, outage };
}
