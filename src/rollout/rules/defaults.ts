/** The policy of a rollout, from the settings and the request. Pure. */
import { Approvals, type Policy } from "#rollout/policy/contract.ts";
import type { HeadPolicy } from "#rollout/state.ts";

/** Completes the request from the settings. It cannot ask for fewer approvals than they do. */
export function withDefaults(settings: HeadPolicy, requested: Policy = {}): HeadPolicy {
  const wanted = [settings.approvals, requested.approvals];
  // From the fewest to the most.
  const approvals = Approvals.options.findLast((one) => wanted.includes(one));
  return { ...settings, ...requested, ...(approvals !== undefined && { approvals }) };
}
