/** Two processes' worth of API behind a real PgBouncer that lends a server for one transaction at a time. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { listenForInvalidations } from "#api/cache/invalidation.ts";
import { startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";
import { type Database, inTransaction, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { startApiNode } from "../../support/api/api.ts";
import { startPgbouncer } from "../../support/servers/pgbouncer.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** More than the pooler has servers: each of its transactions may meet another one. */
const many = Array.from({ length: 40 }, (_, index) => index);

type Node = Awaited<ReturnType<typeof startApiNode>>;

describe.skipIf(!hasPrograms("pgbouncer"))("behind PgBouncer", () => {
  let server: TestDatabase;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  let database: Database;
  let first: Node;
  let second: Node;

  beforeAll(async () => {
    server = await startTestDatabase();
    await migrate(server.url, log);
    pooler = await startPgbouncer(server.url);
    database = openDatabase(pooler.url, log);
    first = await startApiNode(pooler.url, {}, server.url);
    second = await startApiNode(pooler.url, {}, server.url);
  });

  afterAll(async () => {
    await first?.stop();
    await second?.stop();
    await database?.end();
    await pooler?.stop();
    await server?.stop();
  });

  const codeAt = async (node: Node, key: string, rootKey: string): Promise<string> =>
    (await node.call("keys.verifyKey", { key }, rootKey)).body.data.code;

  it("a key that is revoked at one process is refused at the other within a second", async () => {
    const { rootKey } = await first.createWorkspace();
    const { apiId } = (await first.call("apis.createApi", { name: "payments" }, rootKey)).body.data;
    const { key, keyId } = (await first.call("keys.createKey", { apiId }, rootKey)).body.data;
    expect(await codeAt(second, key, rootKey)).toBe("VALID");

    await first.call("keys.deleteKey", { keyId }, rootKey);

    await waitFor(async () => (await codeAt(second, key, rootKey)) === "NOT_FOUND", {
      withinMs: 1_000,
      what: "NOT_FOUND at the other process",
    });
  });

  it("statements that are used often do not meet a server that does not know them", async () => {
    const { rootKey } = await first.createWorkspace();
    const { apiId } = (await first.call("apis.createApi", { name: "payments" }, rootKey)).body.data;
    const body = { apiId, credits: { remaining: 1_000 } };
    const { key } = (await first.call("keys.createKey", body, rootKey)).body.data;

    const codes = await Promise.all(
      many.map((index) => codeAt(index % 2 === 0 ? first : second, key, rootKey)),
    );

    expect(new Set(codes)).toEqual(new Set(["VALID"]));
  });

  it("a statement of a transaction ends in time, and leaves no limit to the next", async () => {
    const limits = await Promise.all(
      many.map((index) =>
        index % 2 === 0
          ? inTransaction(database, async (client) => client.query("SHOW statement_timeout"))
          : database.query("SHOW statement_timeout"),
      ),
    );

    const seen = limits.map(({ rows }) => rows[0].statement_timeout);
    expect(new Set(seen.filter((_, index) => index % 2 === 0))).toEqual(new Set(["30s"]));
    expect(new Set(seen.filter((_, index) => index % 2 === 1))).toEqual(new Set(["0"]));
  });

  it("a process that listens through the pooler does not take itself for one that hears", async () => {
    const invalidations = listenForInvalidations(pooler.url, log);
    onTestFinished(invalidations.close);
    let listened = 0;
    invalidations.subscribe((stale) => {
      if (stale === undefined) listened += 1;
    });

    // It has begun to listen, and then found out that nothing comes.
    await waitFor(() => listened > 1, { withinMs: 10_000, what: "a second attempt" });

    expect(invalidations.isLive()).toBe(false);
  });

  const startProgram = async (database: Record<string, string>) => {
    const dir = makeTempDir();
    onTestFinished(dir.remove);
    const environment = {
      VEDETTE_DATA_DIR: dir.path,
      VEDETTE_API__PORT: "0",
      VEDETTE_METRICS__PORT: "0",
      VEDETTE_ANALYTICS__ENABLED: "false",
      ...database,
    };
    const app = await startApp(readConfig({ environment }), { roles: ["api"], log });
    onTestFinished(app.stop);
    return app;
  };

  it("the program starts with the direct address beside the pooler's", async () => {
    const app = await startProgram({
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: server.url,
    });

    const answer = await fetch(`${app.endpoints.api}/v2/liveness`);
    expect(answer.status).toBe(200);
  });

  it("a second program with embedded analytics is refused, also where both go by the pooler", async () => {
    const addresses = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: server.url };
    const kept = { ...addresses, VEDETTE_ANALYTICS__ENABLED: "true" };
    await startProgram(kept);

    await expect(startProgram(kept)).rejects.toThrow("set clickhouse.url");
  });

  it("the program says what to set when it has the pooler's address alone", async () => {
    const start = startProgram({ DATABASE_URL: pooler.url });

    await expect(start).rejects.toThrow("set database.direct_url");
  });
});
