/** The image, made by the steps of the Dockerfile in folders, and the program that it holds. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cleanEnvironment, runDockerfile, type Stage } from "../../support/servers/dockerfile.ts";
import {
  serverSettings,
  startTestDatabase,
  startTestRestate,
  type TestServer,
} from "../../support/servers/servers.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const dir = makeTempDir();
const servers: TestServer[] = [];
let image: Stage;
let environment: Record<string, string>;

beforeAll(async () => {
  image = await runDockerfile("Dockerfile", dir.path);
  const database = await startTestDatabase();
  servers.push(database);
  const restate = await startTestRestate({ services: [] });
  servers.push(restate);
  environment = {
    ...cleanEnvironment(),
    ...image.environment,
    ...serverSettings(database, restate),
  };
});

afterAll(async () => {
  for (const server of servers.reverse()) await server.stop();
  dir.remove();
});

/** The image's own check, as an engine runs it: the exit code and what it says. */
function checkHealth(): Promise<{ code: number; said: string }> {
  const [file = "", ...args] = image.healthCheck;
  return new Promise((resolve) => {
    execFile(file, args, { env: environment }, (error, _stdout, said) =>
      resolve({ code: error === null ? 0 : Number(error.code), said }),
    );
  });
}

function runImage(args: string[]): ChildProcess {
  const entry = path.join(image.root, "usr/local/bin", image.entrypoint[0] ?? "");
  return spawn(entry, args, { env: environment, stdio: ["ignore", "ignore", "pipe"] });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

it("holds the page that was built, and neither the bundler's native parts nor the embedded engine", () => {
  const pages = globSync("dist/console/index.html", { cwd: image.workdir });
  const parts = globSync("node_modules/{@rolldown/binding-*,chdb}", { cwd: image.workdir });

  expect({ pages, parts }).toEqual({ pages: ["dist/console/index.html"], parts: [] });
});

it.each([[["api"]], [["control"]], [["worker"]], [["api", "control", "worker"]]])(
  "is healthy as %s once it serves, and not before nor after",
  async (roles) => {
    const before = await checkHealth();
    const child = runImage(["start", "--role", ...roles]);
    const isWell = async () => (await checkHealth()).code === 0 || child.exitCode !== null;
    await waitFor(isWell, { withinMs: 20_000, what: "the health check" });
    const serving = await checkHealth();
    await end(child);
    const after = await checkHealth();

    expect([before.code, serving, after.code]).toEqual([1, { code: 0, said: "" }, 1]);
  },
);
