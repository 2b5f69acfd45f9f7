/** The image as a container engine makes and runs it, by its command line. */
import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";

/** Building fetches the base image and what `npm ci` installs. */
export const buildWithinMs = 1_200_000;
const callWithinMs = 120_000;

/**
 * Whether an engine answers to `docker`. Containers have to share this machine's loopback, where the servers of tests
 * listen: only Linux can do that.
 */
export function hasEngine(): boolean {
  if (process.platform !== "linux") return false;
  const asked = spawnSync("docker", ["version", "--format", "{{.Server.Version}}"], {
    timeout: 10_000,
  });
  return asked.status === 0;
}

export type EngineImage = Awaited<ReturnType<typeof buildImage>>;

/** Builds the Dockerfile of this folder. */
export async function buildImage() {
  const name = `vedette-test:${randomUUID()}`;
  await docker(["build", "--network", "host", "--tag", name, "."], buildWithinMs);
  return {
    /** Runs a command instead of the program, and answers what it says. */
    run: (command: string[]) => {
      const [file = "", ...args] = command;
      return docker(["run", "--rm", "--network", "host", "--entrypoint", file, name, ...args]);
    },
    start: (args: string[], environment: Record<string, string>) =>
      startContainer([name, ...args], environment),
    remove: () => docker(["image", "rm", "--force", name]),
  };
}

async function startContainer(command: string[], environment: Record<string, string>) {
  const settings = Object.entries(environment).flatMap(([key, value]) => [
    "--env",
    `${key}=${value}`,
  ]);
  const options = ["--detach", "--init", "--network", "host", ...settings];
  const id = (await docker(["run", ...options, ...command])).trim();
  const inspect = async (field: string) =>
    (await docker(["inspect", "--format", `{{${field}}}`, id])).trim();
  return {
    /** What the image's own check says: `starting`, `healthy` or `unhealthy`. */
    health: () => inspect(".State.Health.Status"),
    isRunning: async () => (await inspect(".State.Running")) === "true",
    exec: (args: string[]) => docker(["exec", id, ...args]),
    log: () => docker(["logs", id]),
    /** Answers the exit code. */
    stop: async () => {
      await docker(["stop", "--time", "30", id]);
      return Number(await inspect(".State.ExitCode"));
    },
    remove: () => docker(["rm", "--force", "--volumes", id]),
  };
}

async function docker(args: string[], timeout = callWithinMs): Promise<string> {
  const options = { timeout, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)("docker", args, options);
  return stdout;
}
