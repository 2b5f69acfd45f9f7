/** What the procedures of the namespace `analytics` are given. */
import type { Limiter } from "#api/limiter.ts";
import type { Database } from "#kernel/database.ts";
import type { EngineQuery, Row } from "./engine/engine-client.ts";
import type { Retention } from "./retention.ts";

/** The store, as far as queries need it. */
export type AnalyticsStore = {
  database: string;
  /** Throws `EngineError`. */
  query: (query: EngineQuery) => Promise<Row[]>;
};

export type AnalyticsParts = {
  database: Database;
  limiter: Limiter;
  /** undefined: there is none. */
  analytics: { store: AnalyticsStore; retention: Retention } | undefined;
};
