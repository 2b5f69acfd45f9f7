/** Writes what was found, one entry of a check after the other, for as long as it takes. */
import { implement } from "@restatedev/restate-sdk";
import { checkRecords } from "./internal.ts";
import type { Recorder } from "./parts.ts";
import { forEver } from "./retry.ts";

export function createRecordsObject(recorder: Recorder) {
  return implement(checkRecords, {
    handlers: {
      write: async (ctx, { results, missed, transition, snapshot }) => {
        await ctx.run("write-records", async () => {
          if (results !== undefined) await recorder.results(results);
          if (missed !== undefined) await recorder.missed({ checkId: ctx.key, ...missed });
          if (transition !== undefined) await recorder.transition(transition);
          if (snapshot !== undefined) await recorder.snapshot(snapshot);
        });
        return null;
      },
    },
    options: {
      ingressPrivate: true,
      journalRetention: 0,
      retryPolicy: forEver,
    },
  });
}
