/** Writes what was found, one entry of a check after the other, for as long as it takes. */
import { implement } from "@restatedev/restate-sdk";
import { writeEntry } from "./definitions/entry.ts";
import { checkRecords } from "./internal.ts";
import type { Recorder } from "./parts.ts";
import { forEver } from "./probe/retry.ts";

export function createRecordsObject(recorder: Recorder) {
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
