/** Schemas of the procedures of the namespace `analytics`. */
import { z } from "zod";
import type { Example } from "#api/procedure.ts";
import { text } from "#api/schemas/schema.ts";

export const QueryInput = z.strictObject({
  query: text().describe(
    "One SELECT in ClickHouse's dialect, over the tables that the procedure reads.",
  ),
});
export type QueryExample = Example<z.input<typeof QueryInput>, z.infer<typeof QueryOutput>>;

export const QueryOutput = z
  .array(z.record(z.string(), z.unknown()))
  .describe("The rows of the result: each column under its name.");
