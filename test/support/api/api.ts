/** The public API on a Postgres of its own, with each answer held against the wire contract. */
import { Unkey } from "@unkey/api";
import { HTTPClient } from "@unkey/api/lib/http.js";
import { Registry } from "prom-client";
import { insertRootKey } from "#api/access/root-key.ts";
import { createApi } from "#api/api.ts";
import { type Invalidations, listenForInvalidations } from "#api/cache/invalidation.ts";
import { newId } from "#api/ids.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import type { ApiParts } from "#api/parts.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { type Database, inTransaction, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import type { TestDatabase } from "../servers/servers.ts";
import { waitFor } from "../wait-for.ts";
import { checkedFetch, expectContract } from "./api-contract.ts";

const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });

const unrecorded = {
  verification: () => {},
  ratelimit: () => {},
  flush: async () => {},
  close: async () => {},
};

export type TestApi = Awaited<ReturnType<typeof startTestApi>>;

/** An answer, held against the contract already. */
type TestAnswer = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  body: any;
};

/** A database and one process's worth of API on a free port. */
export async function startTestApi(over: Partial<ApiParts> = {}, { killsPostgres = false } = {}) {
  const server = await createTestDatabase({ isKilled: killsPostgres });
  try {
    const first = await startApiNode(server.url, over);
    return { ...first, server, stop: () => first.stop().finally(server.stop) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * One more process's worth of API: caches and limits of its own on the same database, which
 * `databaseUrl` may lead to by way of a pooler.
 */
export async function startApiNode(
  databaseUrl: TestDatabase["url"],
  over: Partial<ApiParts> = {},
  directUrl = databaseUrl,
) {
  const database = openDatabase(databaseUrl, log);
  const invalidations = listenForInvalidations(databaseUrl, log, directUrl);
  const app = createApi({ ...parts(database, invalidations), ...over });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  await waitFor(() => invalidations.isLive(), { withinMs: 10_000, what: "invalidations heard" });
  const stop = async () => {
    await app.close();
    await invalidations.close();
    await database.end();
  };
  return { url, app, database, ...doors({ url, database }), stop };
}

function parts(database: Database, invalidations: Invalidations) {
  return {
    database,
    invalidations,
    limiter: createLocalLimiter({ maxCells: 10_000 }),
    recorder: unrecorded,
    log,
    keyRing: createKeyRing([`test:${Buffer.alloc(32, 7).toString("base64")}`]),
    analytics: undefined,
    cachedKeys: 1_000,
    region: "test",
    docsUrl: "https://docs.test/errors",
    trustedProxies: [],
    validatesAnswers: true,
    registry: new Registry(),
    logsRequests: false,
    hasFastLane: true,
  };
}

type Door = { url: string; database: Database };

/** What a test does with an API: make tenants, call procedures, use the published client. */
function doors({ url, database }: Door) {
  /** A root key of a workspace; without `permissions` it may do everything. */
  const createRootKey = (forWorkspaceId: string, permissions: readonly string[] = ["*"]) =>
    inTransaction(database, async (transaction) => {
      const key = `${newId("key")}${newId("key")}`;
      await insertRootKey(transaction, { key, forWorkspaceId, name: "test", permissions });
      return key;
    });
  return {
    createRootKey,
    createWorkspace: async () => {
      const id = newId("workspace");
      await database.query("INSERT INTO workspaces (id, name) VALUES ($1, $1)", [id]);
      return { id, rootKey: await createRootKey(id) };
    },
    call: (procedure: string, body: unknown, rootKey: string) =>
      callProcedure(`${url}/v2/${procedure}`, body, rootKey),
    /** The published client, its requests and answers checked on the way. */
    client: (rootKey: string) =>
      new Unkey({
        rootKey,
        serverURL: url,
        retryConfig: { strategy: "none" },
        httpClient: new HTTPClient({ fetcher: checkedFetch() }),
      }),
  };
}

/** The answer of a procedure at its address, which is as the contract says. */
export async function callProcedure(
  url: string,
  body: unknown,
  rootKey: string,
): Promise<TestAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${rootKey}` },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  const text = await response.text();
  const contentType = headers.get("content-type");
  const procedure = url.split("/v2/")[1] ?? "";
  return { status, headers, body: expectContract({ procedure, status, contentType, text }) };
}

/** What the audit log of a workspace has, oldest first. */
export async function auditEvents(
  { database }: Pick<TestApi, "database">,
  workspaceId: string,
): Promise<string[]> {
  const { rows } = await database.query<{ event: string }>(
    "SELECT event FROM audit_log WHERE workspace_id = $1 ORDER BY time, ctid",
    [workspaceId],
  );
  return rows.map(({ event }) => event);
}
