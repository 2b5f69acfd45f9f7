/** The report of the child process that loads a file. The file's own code may write there, too. */
import { z } from "zod";

/** A value that is no plain data. */
const Unfit = z.object({
  path: z.array(z.union([z.string(), z.number()])).readonly(),
  /** Such as `a function`. */
  what: z.string(),
});
export type Unfit = z.infer<typeof Unfit>;

const LoadResult = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("loaded"),
    /** null: there is no default export. */
    data: z.unknown(),
    unfit: z.array(Unfit),
    /** The text with blanks in place of the types; absent of JavaScript. */
    code: z.string().optional(),
  }),
  z.object({
    kind: z.literal("failed"),
    message: z.string(),
    line: z.number().optional(),
    column: z.number().optional(),
  }),
]);
export type LoadResult = z.infer<typeof LoadResult>;

/** Throws when it is none. */
export function parseResult(text: string): LoadResult {
  const { data, success } = LoadResult.safeParse(JSON.parse(text));
  if (!success) throw new Error("ended with something else than definitions");
  return data;
}
