/** What operator commands work with: the database that the settings name, or a running program's. */
import { userInfo } from "node:os";
import { createRootKey, type RootKeyOrder } from "#api/operator/root-keys.ts";
import { createWorkspaceAdmin } from "#api/operator/workspaces.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { readConfig } from "./config.ts";

export type OperatorSource = { config?: string | undefined; dataDir?: string | undefined };

export type Operator = ReturnType<typeof createOperator>;

/** Runs `work` and lets go of the database. */
export async function withOperator<Result>(
  source: OperatorSource,
  work: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const config = readConfig({ file: source.config, environment: process.env });
  const url = config.database.url || runningDatabaseUrl(source.dataDir ?? config.data_dir);
  const database = openDatabase(url, createLog({ level: "silent", format: "json" }));
  try {
    return await work(createOperator(database));
  } finally {
    await database.end();
  }
}

function createOperator(database: ReturnType<typeof openDatabase>) {
  const actor = `operator:${userInfo().username}`;
  return {
    workspaces: createWorkspaceAdmin(database, actor),
    createRootKey: (order: RootKeyOrder) => createRootKey(database, actor, order),
  };
}
