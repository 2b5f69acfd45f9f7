/** Debian's redis-server, the real one, where it is installed: `hasPrograms("redis-server")`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export type TestRedis = Awaited<ReturnType<typeof startTestRedis>>;

/** Keeps nothing on disk: what it knew is gone after a kill. */
export async function startTestRedis() {
  const dir = makeTempDir();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir.path];
  let child: ChildProcess | undefined;

  /** Runs one command on a connection of its own. */
  const command = async (name: string, ...args: string[]) => {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
    redis.on("error", () => {});
    try {
      await redis.connect();
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  };
  const start = async () => {
    child = spawn("redis-server", [...place, "--save", "", "--appendonly", "no"], {
      stdio: "ignore",
    });
    await waitFor(async () => (await command("PING")) === "PONG", {
      withinMs: 10_000,
      what: "Redis to answer",
    });
  };
  const kill9 = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  // A test run that ends in the middle leaves nothing behind.
  process.once("exit", () => child?.kill("SIGKILL"));
  await start();
  return {
    url,
    command,
    kill9,
    /** After `kill9`: the same port, nothing in it. */
    restart: start,
    /** It neither answers nor closes its connections, until `wake`. */
    hang: () => void child?.kill("SIGSTOP"),
    wake: () => void child?.kill("SIGCONT"),
    stop: () => kill9().finally(dir.remove),
  };
}
