/** Makes the runs of this worker, away from the objects: a run takes long, an object must not. */
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
          // Taken up again after everything was down: the run is closed, what it found is old news.
          const isOver = Date.now() - scheduledAtMs > check.frequencySeconds * 1_000;
          if (isOver) return null;
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
