/** The tables of the store, in the order of creation. All statements are idempotent. */
import type { RecordedTable } from "#api/analytics/batch.ts";
import { type Retention, type Rollup, rollups } from "#api/analytics/retention.ts";

/** The number of latest batches of each table among which a repeated one is detected. */
const deduplicationWindow = 10_000;

const verificationColumns = `request_id String, time Int64 CODEC(Delta, LZ4),
  workspace_id String, key_space_id String, identity_id String, external_id String, key_id String,
  region LowCardinality(String), source LowCardinality(String), app_id String DEFAULT '',
  outcome LowCardinality(String), tags Array(String) DEFAULT [],
  spent_credits Int64 DEFAULT 0, latency Float64 DEFAULT 0`;

const ratelimitColumns = `request_id String, time Int64 CODEC(Delta, LZ4),
  workspace_id String, namespace_id String, identifier String, passed Bool,
  latency Float64 DEFAULT 0, override_id String DEFAULT '', limit Int64 DEFAULT 0,
  remaining Int64 DEFAULT 0, reset_at Int64 DEFAULT 0, tokens Int64 DEFAULT 0`;

const latencyStates = `latency_avg AggregateFunction(avg, Float64),
  latency_p75 AggregateFunction(quantilesTDigest(0.75), Float64),
  latency_p99 AggregateFunction(quantilesTDigest(0.99), Float64)`;

const latencySelect = `avgState(raw.latency) AS latency_avg,
  quantilesTDigestState(0.75)(raw.latency) AS latency_p75,
  quantilesTDigestState(0.99)(raw.latency) AS latency_p99`;

type Family = {
  table: RecordedTable;
  columns: string;
  /** Sort order of the rows after the workspace, and of the rollups. */
  order: string;
  prefix: string;
  dimensions: readonly { name: string; type: string }[];
  sums: readonly { name: string; from: string }[];
};

const text = (name: string) => ({ name, type: "String" });

const families: readonly Family[] = [
  {
    table: "key_verifications_v1",
    columns: verificationColumns,
    order: "workspace_id, time, key_space_id, key_id",
    prefix: "key_verifications_per",
    dimensions: [
      text("workspace_id"),
      text("key_space_id"),
      text("identity_id"),
      text("external_id"),
      text("key_id"),
      { name: "outcome", type: "LowCardinality(String)" },
      { name: "tags", type: "Array(String)" },
    ],
    sums: [
      { name: "count", from: "count()" },
      { name: "spent_credits", from: "sum(raw.spent_credits)" },
    ],
  },
  {
    table: "ratelimits_v1",
    columns: ratelimitColumns,
    order: "workspace_id, time, namespace_id, identifier",
    prefix: "ratelimits_per",
    dimensions: [text("workspace_id"), text("namespace_id"), text("identifier")],
    sums: [
      { name: "passed", from: "countIf(raw.passed)" },
      { name: "total", from: "count()" },
    ],
  },
];

/** The columns that a query can read, of the raw rows and of the rollups. */
export function columnsOf(table: RecordedTable): { raw: string[]; summed: string[] } {
  const family = families.find((one) => one.table === table) as Family;
  const raw = [...family.columns.matchAll(/(?:^|,)\s*([a-z_]+) [A-Z]/g)].map(
    ([, name = ""]) => name,
  );
  const named = [...family.dimensions, ...family.sums].map(({ name }) => name);
  return { raw, summed: ["time", ...named, "latency_avg", "latency_p75", "latency_p99"] };
}

/** Start of the interval that a row falls into, as DateTime in UTC. */
function startOf(rollup: Rollup): string {
  const at = "fromUnixTimestamp64Milli(raw.time, 'UTC')";
  const start = `toStartOf${rollup[0]?.toUpperCase()}${rollup.slice(1)}(${at})`;
  return `toDateTime(${start}, 'UTC')`;
}

export function schemaStatements(database: string, retention: Retention): string[] {
  const of = { database, retention };
  return [
    `CREATE DATABASE IF NOT EXISTS ${database}`,
    ...families.flatMap((family) => [
      ...rawTable(family, of),
      ...rollups.flatMap((rollup) => rollupTable(family, rollup, of)),
    ]),
  ];
}

type Options = { database: string; retention: Retention };

function rawTable({ table, columns, order }: Family, { database, retention }: Options): string[] {
  const ttl = `toDateTime(fromUnixTimestamp64Milli(time, 'UTC')) + INTERVAL ${retention.raw} DAY`;
  return [
    `CREATE TABLE IF NOT EXISTS ${database}.${table} (${columns})
     ENGINE = MergeTree PARTITION BY toDate(fromUnixTimestamp64Milli(time, 'UTC'))
     ORDER BY (${order}) TTL ${ttl}
     SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, ttl_only_drop_parts = 1`,
    keepFor(`${database}.${table}`, ttl),
  ];
}

function rollupTable(family: Family, rollup: Rollup, { database, retention }: Options): string[] {
  const name = `${database}.${family.prefix}_${rollup}_v1`;
  const keys = family.dimensions.map((dimension) => dimension.name).join(", ");
  const columns = [
    "time DateTime('UTC')",
    ...family.dimensions.map((dimension) => `${dimension.name} ${dimension.type}`),
    ...family.sums.map((sum) => `${sum.name} SimpleAggregateFunction(sum, Int64)`),
    latencyStates,
  ].join(", ");
  const sums = family.sums.map((sum) => `${sum.from} AS ${sum.name}`).join(", ");
  const ttl = `time + INTERVAL ${retention[rollup]} DAY`;
  const order = `workspace_id, time, ${keys.replace("workspace_id, ", "")}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${name} (${columns})
     ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (${order}) TTL ${ttl}
     SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}, ttl_only_drop_parts = 1`,
    keepFor(name, ttl),
    // The source's columns are qualified: some of the sums have the same name.
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${name.replace(/_v1$/, "_mv_v1")} TO ${name} AS
     SELECT ${startOf(rollup)} AS time,
       ${keys}, ${sums}, ${latencySelect}
     FROM ${database}.${family.table} AS raw GROUP BY time, ${keys}`,
  ];
}

/** The retention is a setting: an existing table takes the new one for new rows and for later deletions. */
function keepFor(table: string, ttl: string): string {
  return `ALTER TABLE ${table} MODIFY TTL ${ttl} SETTINGS materialize_ttl_after_modify = 0`;
}
