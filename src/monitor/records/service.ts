/** Writes the entries of a check in order, and retries until the database accepts them. */
import { implement } from "@restatedev/restate-sdk";
import { checkRecords } from "#monitor/internal.ts";
import type { CheckRecorder } from "#monitor/records/recorder.ts";
import { forEver } from "#monitor/retry.ts";
import { writeEntry } from "./entry.ts";

export function createRecordsObject(recorder: CheckRecorder) {
  return implement(checkRecords, {
    handlers: {
      write: async (ctx, entry) => {
        const unwritten = await ctx.run("write-records", () =>
          writeEntry(recorder, ctx.key, entry),
        );
        for (const fault of unwritten) ctx.console.error("record given up", { fault });
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
