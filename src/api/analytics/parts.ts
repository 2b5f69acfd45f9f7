/** The parts that the procedures of the namespace `analytics` are given. */
import { z } from "zod";
import type { EngineQuery, Row } from "#api/analytics/engine/engine-client.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Example } from "#api/procedure.ts";
import { text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";
import type { Retention } from "./retention.ts";

/** The part of the store that queries need. */
export type AnalyticsStore = {
  database: string;
  /** Throws `EngineError`. */
  query: (query: EngineQuery) => Promise<Row[]>;
  /** False if certainly no verification of that time (unix ms) or later is recorded; absent: only a query knows. */
  mayVerifySince?: (sinceMs: number) => boolean;
};

export type AnalyticsParts = {
  database: Database;
  limiter: Limiter;
  /** undefined: analytics are off. */
  analytics: { store: AnalyticsStore; retention: Retention } | undefined;
};

/** Schemas of the procedures of the namespace `analytics`. */
export const QueryInput = z.strictObject({
  query: text().describe(
    "One SELECT in ClickHouse's dialect, over the tables that the procedure reads.",
  ),
});
export type QueryExample = Example<z.input<typeof QueryInput>, z.infer<typeof QueryOutput>>;

export const QueryOutput = z
  .array(z.record(z.string(), z.unknown()))
  .describe("The rows of the result: each column under its name.");
