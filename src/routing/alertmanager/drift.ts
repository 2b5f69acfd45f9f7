/** Whether alert managers are in step with the routes, as the running program tells of it. */
import { Gauge, type Registry } from "prom-client";
import { describeComparison } from "./describe.ts";
import type { Comparison } from "./keep.ts";

export type Drift = {
  environment: string;
  /** `unknown`: nobody could look, or the settings lack something. */
  state: "in_step" | "drifted" | "unknown";
  /** What differs, for people. */
  lines: string[];
};

type Look = { environment: string; compare: () => Promise<Comparison> };

/** Never throws. */
export function readDrifts(looks: readonly Look[]): Promise<Drift[]> {
  return Promise.all(looks.map(readDrift));
}

async function readDrift({ environment, compare }: Look): Promise<Drift> {
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

/** Looked at when someone asks us. Absent while it is unknown, which alert rules can see. */
export function showDrifts(read: () => Promise<Drift[]>, registry: Registry): void {
  new Gauge({
    name: "vedette_alertmanager_in_step",
    help: "1 when the alert manager's file and what it works with are as the routes have them, else 0.",
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
