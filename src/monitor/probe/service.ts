/** Makes this worker's runs outside the objects, because a run takes long and would block its object. */
import { implement } from "@restatedev/restate-sdk";
import type { Definitions } from "#monitor/contract.ts";
import { apiCheckObject, checkProbe } from "#monitor/internal.ts";
import type { RunCheck } from "./run-check.ts";

type Parts = {
  definitions: Pick<Definitions, "apiChecks">;
  runCheck: RunCheck;
  activeChecks: ReadonlySet<string>;
};

export function createProbeService({ definitions, runCheck, activeChecks }: Parts) {
  const checks = new Map(definitions.apiChecks.map((check) => [check.id, check]));
  return implement(checkProbe, {
    handlers: {
      run: async (ctx, { scheduledAtMs }) => {
        const checkId = ctx.key;
        const check = checks.get(checkId);
        if (check === undefined || !activeChecks.has(checkId)) return null;
        const found = await ctx.run("probe", async () => {
          // Resumed after a downtime: the run is closed already, so that its result would be useless.
          const isClosed = Date.now() - scheduledAtMs > check.frequencySeconds * 1_000;
          if (isClosed) return null;
          const result = await runCheck(check, scheduledAtMs);
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
