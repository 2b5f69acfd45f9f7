/** Values that several requests about rollouts have. */
import { z } from "zod";
import { got } from "#kernel/faults.ts";
import { isClean } from "#kernel/text.ts";

const aboutLimit = {
  error: ({ input }: { input?: unknown }) =>
    `must be a count, for example 3, or a percentage, for example "2%"${got(input)}`,
};

/** The number that may fail; the next failure is one too many. */
export const Limit = z
  .union(
    [z.int().min(0).max(1_000_000), z.string().regex(/^(?:100|[1-9]?\d)%$/, aboutLimit)],
    aboutLimit,
  )
  .meta({ examples: [3, "2%"] });
export type Limit = z.infer<typeof Limit>;

const latestMs = Date.parse("9000-01-01T00:00:00Z");

/** A time of the calendar's four-digit years, as Postgres and `Date` have them in common. */
export const instant = (example: string) =>
  z.iso
    .datetime({
      offset: true,
      abort: true,
      error: ({ input }) => `must be a time with its offset, such as ${example}${got(input)}`,
    })
    .refine((text) => Date.parse(text) >= 0 && Date.parse(text) < latestMs, {
      error: "must be a time from 1970 to 8999",
    });

/** The name that an operator gives a row: a window, a pin or a promotion. */
export const RowId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
  error: "must be lower-case letters, digits and dashes, 63 at most",
});

/** Text that an operator wrote for other people. */
export const Reason = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .refine((text) => isClean(text, 500), { error: "must be one line of text" })
  .meta({ title: "Reason", examples: ["incident 4711"] });

/** The limit as a count. */
export function limitOf(limit: Limit, total: number): number {
  if (typeof limit === "number") return limit;
  return Math.floor((total * Number.parseInt(limit, 10)) / 100);
}
