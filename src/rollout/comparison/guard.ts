/** The guard: gross failure of what is too small to test. Fixed limits; false alarms are measured, not bounded. Pure. */
import { guard } from "./defaults.ts";
import { predictCounts, type Sample } from "./sample.ts";

/** True if the new sentinels fail grossly, together and at least half of them alone. `errors`: of the last minutes. */
export function isGrossFailure(errors: Sample, isNew: Uint8Array): boolean {
  if (isNew.every((mark) => mark === 1)) return false;
  const predicted = predictCounts(errors, isNew, guard.leastRate);
  const all = { requests: 0, errors: 0, predicted: 0 };
  let [busy, failing] = [0, 0];
  for (let i = 0; i < isNew.length; i += 1) {
    if (isNew[i] !== 1) continue;
    const own = {
      requests: errors.exposure[i] as number,
      errors: errors.count[i] as number,
      predicted: predicted[i] as number,
    };
    all.requests += own.requests;
    all.errors += own.errors;
    all.predicted += own.predicted;
    if (own.requests < guard.leastRequestsOfOne) continue;
    busy += 1;
    if (fails(own)) failing += 1;
  }
  return all.requests >= guard.leastRequests && fails(all) && busy > 0 && 2 * failing >= busy;
}

function fails(side: { requests: number; errors: number; predicted: number }): boolean {
  const { requests, errors, predicted } = side;
  return errors >= guard.rate * requests && errors >= guard.timesPredicted * predicted;
}
