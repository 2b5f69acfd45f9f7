/** Which checks are shown beside a rollout. Pure. */
import type { CheckView } from "#monitor/results/contract.ts";

/** API checks: first those of the gate, in its order, then the others that have run, then the rest. */
export function orderChecks(checks: readonly CheckView[], gate: readonly string[]): CheckView[] {
  const rank = ({ id, last_at }: CheckView) => {
    const place = gate.indexOf(id);
    if (place !== -1) return place;
    return last_at === null ? gate.length + 1 : gate.length;
  };
  const api = checks.filter(({ rule }) => rule.kind === "api");
  return api.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
