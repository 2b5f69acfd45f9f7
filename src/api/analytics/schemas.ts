/** What the procedures of the namespace `analytics` take and answer. */
import { z } from "zod";
import { text } from "#api/schemas/schema.ts";

export const QueryInput = z.strictObject({ query: text() });
export const QueryOutput = z.array(z.record(z.string(), z.unknown()));
