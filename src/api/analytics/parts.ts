/** The parts that the procedures of the namespace `analytics` are given. */
import type { Limiter } from "#api/limiter.ts";
import type { Database } from "#kernel/database.ts";
import type { EngineQuery, Row } from "./engine/engine-client.ts";
import type { Retention } from "./retention.ts";

/** The part of the store that queries need. */
export type AnalyticsStore = {
  database: string;
  /** Throws `EngineError`. */
  query: (query: EngineQuery) => Promise<Row[]>;
};

export type AnalyticsParts = {
  database: Database;
  limiter: Limiter;
  /** undefined: analytics are off. */
  analytics: { store: AnalyticsStore; retention: Retention } | undefined;
};
