/** Makes this worker's runs outside the objects, because a run takes long and would block its object. */
import { implement } from "@restatedev/restate-sdk";
import type { ApiCheck, ReadDefinitions } from "#monitor/contract.ts";
import { apiCheckObject, checkProbe } from "#monitor/internal.ts";
import type { RunCheck } from "./run-check.ts";
import type { WhyOff } from "./secrets.ts";
import { noWitness, type Witness } from "./witness.ts";

type Parts = {
  readDefinitions: ReadDefinitions;
  runCheck: RunCheck;
  whyOff: WhyOff;
  /** Absent: every result counts. */
  witness?: Witness;
  /** The address of the API that checks call by a path. */
  baseUrl?: string;
};

export function createProbeService(parts: Parts) {
  const { readDefinitions, runCheck, whyOff, witness = noWitness, baseUrl = "" } = parts;
  const find = async (checkId: string) => {
    const isIt = ({ id }: ApiCheck) => id === checkId;
    const known = (await readDefinitions()).apiChecks.find(isIt);
    // One that was applied a moment ago.
    return known ?? (await readDefinitions({ isFresh: true })).apiChecks.find(isIt);
  };
  return implement(checkProbe, {
    handlers: {
      run: async (ctx, { scheduledAtMs }) => {
        const checkId = ctx.key;
        const found = await ctx.run("probe", async () => {
          const check = await find(checkId);
          if (check === undefined || whyOff(check).length > 0) return null;
          // Resumed after a downtime: the run is closed already, so that its result would be useless.
          const isClosed = Date.now() - scheduledAtMs > check.frequencySeconds * 1_000;
          if (isClosed) return null;
          const outcome = await runCheck(check, scheduledAtMs);
          const result = await witness.judge(outcome, { check, baseUrl });
          // Not reported: this location then counts as silent.
          if (result === null) return null;
          return { atMs: Date.now(), results: [result] };
        });
        if (found === null) return null;
        ctx.sendClient(apiCheckObject, checkId).report({ scheduledAtMs, ...found });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
