/** Reports if alert managers are in step with the routes, from the running program. */
import { Gauge, type Registry } from "prom-client";
import { type Comparison, describeComparison } from "./keep.ts";

export type Drift = {
  environment: string;
  /** `unknown`: the file or the alert manager cannot be read, or a setting is missing. */
  state: "in_step" | "drifted" | "unknown";
  /** The differences, for people. */
  lines: string[];
};

type DriftCheck = { environment: string; compare: () => Promise<Comparison> };

/** Never throws. */
export function readDrifts(checks: readonly DriftCheck[]): Promise<Drift[]> {
  return Promise.all(checks.map(readDrift));
}

async function readDrift({ environment, compare }: DriftCheck): Promise<Drift> {
  try {
    const comparison = await compare();
    return { environment, state: stateOf(comparison), lines: describeComparison(comparison) };
  } catch (error) {
    return { environment, state: "unknown", lines: [(error as Error).message] };
  }
}

function stateOf({ isInStep, changes, running }: Comparison): Drift["state"] {
  if (isInStep) return "in_step";
  return changes.length === 0 && running === "unknown" ? "unknown" : "drifted";
}

/** Read anew at every scrape. No value while it is unknown, which alert rules can detect. */
export function registerDrifts(read: () => Promise<Drift[]>, registry: Registry): void {
  new Gauge({
    name: "vedette_alertmanager_in_step",
    help: "1 when the alert manager's file and its running configuration match the routes, else 0.",
    labelNames: ["environment"],
    registers: [registry],
    async collect() {
      const drifts = await read();
      this.reset();
      for (const { environment, state } of drifts) {
        if (state !== "unknown") this.set({ environment }, state === "in_step" ? 1 : 0);
      }
    },
  });
}
