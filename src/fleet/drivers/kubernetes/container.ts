import type { ReasonCode } from "#fleet/contract.ts";
import type { Workload } from "./schemas.ts";

const defaultContainer = "kubectl.kubernetes.io/default-container";

/** The container whose image is the sentinel's; undefined: it cannot be told. `wanted` empty: the workload says it. */
export function chooseContainer({ spec }: Workload, wanted: string): string | undefined {
  const names = spec.template.spec.containers.map(({ name }) => name);
  const named = wanted || spec.template.metadata?.annotations[defaultContainer];
  if (named) return names.includes(named) ? named : undefined;
  return names.length === 1 ? names[0] : undefined;
}

export const unknownContainer = `${"config_invalid" satisfies ReasonCode}: which container? Set fleet.kubernetes.container, or kubectl.kubernetes.io/default-container`;
