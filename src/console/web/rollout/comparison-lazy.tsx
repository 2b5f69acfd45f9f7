/** Loads the picture of a comparison when there is one: most rollouts have none. */
import { Outdated, useLoaded } from "#console/web/lazy.tsx";
import { Panel } from "#console/web/parts/blocks.tsx";
import type { GateStatus } from "#rollout/gates/contract.ts";
import type { ComparisonProps } from "./comparison.tsx";

const load = () => import("./comparison.tsx");

export function LazyComparison(props: ComparisonProps) {
  const { loaded: Loaded, isOutdated } = useLoaded(load);
  if (Loaded !== undefined) return <Loaded.ComparisonView {...props} />;
  return isOutdated ? <Outdated what="The comparison" /> : null;
}

/** The comparisons of a past rollout, as its history has them last. */
export function PastComparisons({ gate }: { gate: GateStatus }) {
  return gate.gates.map(({ name, reason, comparison }) =>
    comparison === undefined ? null : (
      <Panel key={name} title={`Gate ${name} after wave ${gate.wave}`}>
        <p>{reason}</p>
        <LazyComparison comparison={comparison} />
      </Panel>
    ),
  );
}
