/** A process with a single role. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type App, startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import type { TestDatabase } from "../../support/servers/servers.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const dir = makeTempDir();
let database: TestDatabase;
let app: App;

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
  const environment = {
    VEDETTE_DATA_DIR: dir.path,
    DATABASE_URL: database.url,
    VEDETTE_API__PORT: "0",
    VEDETTE_METRICS__PORT: "0",
    VEDETTE_ANALYTICS__ENABLED: "false",
  };
  const log = createLog({ level: "silent", format: "json" });
  app = await startApp(readConfig({ environment }), { roles: ["api"], log });
});

afterAll(async () => {
  await app?.stop();
  await database?.stop();
  dir.remove();
});

it("a process that serves the public API alone answers", async () => {
  const answer = await fetch(`${app.endpoints.api}/v2/liveness`);

  expect(answer.status).toBe(200);
});

it("a process that serves the public API alone starts no Restate", () => {
  const kept = readdirSync(dir.path);

  expect(kept).not.toContain("restate");
  expect(app.endpoints).not.toHaveProperty("restate_ingress");
});
