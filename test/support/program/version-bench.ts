/** Workers of different versions, each a process of its own, one after the other on the same servers. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { RolloutHandlerName } from "#rollout/contract.ts";
import { startFakeChat } from "../alerts/fake-chat.ts";
import { freePort } from "../free-port.ts";
import { type FleetOutcome, startFakeFleet } from "../rollout/fake-fleet.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { queryRestate } from "../servers/restate-query.ts";
import { startTestRestate } from "../servers/servers.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { copyEdited, type Edit, ownTree } from "./edited-tree.ts";

export type VersionBench = Awaited<ReturnType<typeof startVersionBench>>;

const objectPath = "vedette.v1.SentinelRolloutService/singleton";

/** `environment`: further settings of the workers. */
export async function startVersionBench(size: number, environment: Record<string, string> = {}) {
  const chat = await startFakeChat();
  const database = await createTestDatabase({ isEmpty: true });
  const restate = await startTestRestate({ services: [] });
  const deploy = { readyAfterMs: 0 };
  const fleet = await startFakeFleet({ size, behave: (): FleetOutcome => deploy });
  const dir = makeTempDir();
  const firstPort = await freePort();
  let port = firstPort;
  let data = "data";
  let host = "127.0.0.1";
  let worker: ChildProcess | undefined;

  /** Starts the worker as the program's source has it, or as it has it after edits. */
  const start = async (...edits: Edit[]) => {
    const tree = edits.length === 0 ? ownTree : copyEdited(dir.path, edits);
    const started = spawn(
      process.execPath,
      [path.join(tree, "src/main.ts"), "start", "--role", "worker"],
      {
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          VEDETTE_DATA_DIR: path.join(dir.path, data),
          VEDETTE_RESTATE__INGRESS_URL: restate.ingressUrl,
          VEDETTE_RESTATE__ADMIN_URL: restate.adminUrl,
          DATABASE_URL: database.url,
          VEDETTE_WORKER__PORT: String(port),
          VEDETTE_WORKER__ADVERTISED_URL: `http://${host}:${port}`,
          VEDETTE_METRICS__PORT: "0",
          VEDETTE_ANALYTICS__ENABLED: "false",
          ...fleet.environment(),
          VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
          VEDETTE_ROLLOUT__MAX_PARALLEL: "2",
          VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: chat.url,
          VEDETTE_SLACK__MESSAGE_SPACING_MS: "0",
          ...environment,
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    worker = started;
    let output = "";
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    started.stdout.on("data", keep);
    started.stderr.on("data", keep);
    await waitFor(() => started.exitCode !== null || isUp(started), {
      withinMs: 60_000,
      what: "the worker to be ready",
    });
    if (started.exitCode !== null) throw new Error(`the worker did not start: ${output}`);
    return started;
  };

  const isUp = ({ pid }: ChildProcess) => {
    const file = path.join(dir.path, data, "endpoints.json");
    return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).pid === pid;
  };

  /** Ends it, or one of before, as a power failure would. */
  const kill = async (running = worker) => {
    if (running === worker) worker = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const closed = once(running, "close");
    running.kill("SIGKILL");
    await closed;
  };

  const query = (sql: string) => queryRestate(restate.adminUrl, sql);

  const post = (address: string, body: unknown) => postTo(`${objectPath}/${address}`, body);

  const postTo = async (address: string, body: unknown) => {
    const answer = await fetch(`${restate.ingressUrl}/${address}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  return {
    chat,
    databaseUrl: database.url,
    fleet,
    start,
    kill,
    /** The name at which the workers from now on are registered; every name leads to the one that runs. */
    nameWorkers: (name: "127.0.0.1" | "localhost") => {
      host = name;
    },
    /** The workers from now on listen at the first port, or at another one: nobody answers at those before. */
    moveWorkers: async (to: "first" | "another") => {
      port = to === "first" ? firstPort : await freePort();
      data = to === "first" ? "data" : `data-${port}`;
    },
    query,
    call: (handler: RolloutHandlerName, body: unknown = {}) => post(handler, body),
    send: (handler: RolloutHandlerName, body: unknown = {}) => post(`${handler}/send`, body),
    /** Of any service, at Restate's own ingress. */
    callAt: (address: string, body: unknown = {}) => postTo(address, body),
    /** The number of calls of a handler, as `<service>/<handler>`, that have this step in their journals and have not ended. */
    atStep: async (handler: string, step: string) => {
      const [service, name] = handler.split("/");
      const rows = await query(`SELECT i.id FROM sys_invocation i JOIN sys_journal j ON j.id = i.id
        WHERE i.status IN ('running', 'backing-off') AND j.name = '${step}'
        AND i.target_service_name = 'vedette.v1.${service}' AND i.target_handler_name = '${name}'`);
      return rows.length;
    },
    /** Keeps every deploy in flight until `release`, also those that the fleet has taken already. */
    hold: () => {
      deploy.readyAfterMs = Number.POSITIVE_INFINITY;
    },
    release: () => {
      deploy.readyAfterMs = 0;
    },
    stop: async () => {
      await kill();
      await restate.stop();
      await database.stop();
      await fleet.stop();
      await chat.stop();
      dir.remove();
    },
  };
}
