/** Shared by the measurements of the public API: a Postgres, a root key, keys, and processes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ensureOwnKey } from "#api/operator/installation-keys.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startChild } from "./child.ts";
import { withStops } from "./clean-up.ts";

const log = createLog({ level: "silent", format: "json" });

export const rootKey = "vedette_root_of_the_bench";

export type ApiBench = {
  database: Database;
  databaseUrl: string;
  /** Starts a server process, which ends together with the measurement. */
  serve: (kind: string, options?: ServeOptions) => Promise<Served>;
};

export type Served = {
  url: string;
  /** A floor has none of its own. */
  metricsUrl?: string;
  pid: number;
  stop: () => Promise<void>;
  kill9: () => Promise<void>;
};

export type ServeOptions = {
  /** Flags of Node, for example `--cpu-prof`. */
  flags?: string[];
  /** The URL of another program than api-node.ts. */
  program?: URL;
  environment?: Record<string, string>;
};

/** Runs `measure`, and cleans up also when it fails or is interrupted. */
export function withApi(measure: (bench: ApiBench) => Promise<void>): Promise<void> {
  return withStops((stops) => prepare(stops).then(measure));
}

async function prepare(stops: (() => unknown)[]): Promise<ApiBench> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-bench-"));
  stops.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, port: 0, password: "bench", log });
  stops.push(postgres.stop);
  await migrate(postgres.url, log);
  const database = openDatabase(postgres.url, log);
  stops.push(() => database.end());
  const own = { origin: "setting", others: "end", graceSeconds: 0 } as const;
  await ensureOwnKey(database, { ...own, key: rootKey });
  const serve = async (kind: string, options: ServeOptions = {}) => {
    const served = await startProcess(kind, postgres.url, options);
    stops.push(served.stop);
    return served;
  };
  return { database, databaseUrl: postgres.url, serve };
}

const apiNode = new URL("./api-node.ts", import.meta.url);

function startProcess(
  kind: string,
  databaseUrl: string,
  { flags = [], program = apiNode, environment = {} }: ServeOptions,
): Promise<Served> {
  return startChild(program, {
    flags,
    environment: { BENCH_KIND: kind, DATABASE_URL: databaseUrl, ...environment },
  });
}

/** The key number `n`; `insertKeys` makes its row. */
export function benchKey(n: number): string {
  return `bench_key_${n}`;
}

/** Creates the keys 0 to `count` - 1 in one API; existing ones are kept. */
export async function insertKeys(database: Database, count: number): Promise<void> {
  await database.query(
    `INSERT INTO key_spaces (id, workspace_id) VALUES ('ks_bench', 'ws_default')
     ON CONFLICT DO NOTHING`,
  );
  await database.query(
    `INSERT INTO apis (id, workspace_id, key_space_id, name)
     VALUES ('api_bench', 'ws_default', 'ks_bench', 'bench') ON CONFLICT DO NOTHING`,
  );
  const batch = 50_000;
  for (let from = 0; from < count; from += batch) {
    await database.query(
      `INSERT INTO keys (id, workspace_id, key_space_id, hash, start)
       SELECT 'key_bench' || n, 'ws_default', 'ks_bench',
         encode(sha256(convert_to('bench_key_' || n, 'UTF8')), 'base64'), 'bench'
       FROM generate_series($1::int, $2::int) n ON CONFLICT DO NOTHING`,
      [from, Math.min(from + batch, count) - 1],
    );
  }
  await database.query("ANALYZE keys");
}

/** The request that verifies one of the keys 0 to `keyCount` - 1, at random. */
export const askedToVerify = (server: Served, keyCount: number) => ({
  ...server,
  path: "/v2/keys.verifyKey",
  headers: { authorization: `Bearer ${rootKey}` },
  body: () => JSON.stringify({ key: benchKey(Math.floor(Math.random() * keyCount)) }),
  says: '"valid":true',
});
