/** Gates for tests, and what is read of them. */
import type { GateOf, NamedGate, WaveGates } from "#rollout/gates/contract.ts";
import type { CheckReport } from "#rollout/gates/kind.ts";
import { withGateReadings } from "#rollout/gates/registry.ts";

export function buildChecksGate(over: Partial<GateOf<"checks">> & { checks: string[] }): NamedGate {
  const { name = "checks", ...fields } = over;
  return { kind: "checks", name, clean_runs: 1, timeout_seconds: 600, ...fields };
}

/** As after a reading of the gate's checks at `atMs`; by default when it closed. */
export function withReports(
  status: WaveGates,
  gate: NamedGate,
  { reports, atMs = Date.parse(status.since) }: { reports: CheckReport[]; atMs?: number },
): WaveGates {
  const readings = [{ name: gate.name, found: { reports } }];
  return withGateReadings(status, [gate], { readings, atMs });
}
