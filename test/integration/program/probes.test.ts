/** What a container's probes learn at the metrics port, which every role has. */
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startApp } from "#app/app.ts";
import type { Role } from "#app/base.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { freePort } from "../../support/free-port.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { serverSettings, startTestRestate } from "../../support/servers/servers.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

type Report = { status: string; dependencies: Record<string, string> };

async function probe(base: string | undefined, path: "/livez" | "/readyz") {
  const answer = await fetch(new URL(path, base));
  return { status: answer.status, body: (await answer.json()) as Report };
}

const start = (environment: Record<string, string>, role: Role, signal?: AbortSignal) =>
  startApp(readConfig({ environment: { VEDETTE_DATA_DIR: tempDir(), ...environment } }), {
    roles: [role],
    log,
    ...(signal !== undefined && { signal }),
  });

it("a process that waits for its database is alive, and not ready", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => void silent.close());
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const metrics = await freePort();
  const stopping = new AbortController();

  const starting = start(
    {
      DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`,
      VEDETTE_METRICS__PORT: String(metrics),
    },
    "api",
    stopping.signal,
  );
  starting.catch(() => {});
  const base = `http://127.0.0.1:${metrics}`;
  await waitFor(
    () =>
      probe(base, "/livez").then(
        ({ status }) => status === 200,
        () => false,
      ),
    {
      withinMs: 20_000,
      what: "the process to be alive",
    },
  );

  expect(await probe(base, "/readyz")).toEqual({
    status: 503,
    body: { status: "starting", dependencies: {} },
  });
  stopping.abort();
  await expect(starting).rejects.toThrow();
});

it("a worker is ready once it is registered, and stays so while Restate is away", async () => {
  const database = await createTestDatabase({ isEmpty: true });
  onTestFinished(database.stop);
  const restate = await startTestRestate({ services: [] });
  onTestFinished(restate.stop);
  const app = await start(serverSettings(database, restate), "worker");
  onTestFinished(app.stop);
  const ready = () => probe(app.endpoints.metrics, "/readyz");
  const untilRestateIs = (state: string) =>
    waitFor(async () => (await ready()).body.dependencies["restate"] === state, {
      withinMs: 30_000,
      what: `Restate to be ${state}`,
    });

  await untilRestateIs("up");
  const before = await ready();
  await restate.kill9();
  await untilRestateIs("down");

  expect(before).toEqual({
    status: 200,
    body: { status: "ready", dependencies: { postgres: "up", restate: "up" } },
  });
  expect(await ready()).toMatchObject({ status: 200, body: { status: "ready" } });
  await restate.restart();
});
