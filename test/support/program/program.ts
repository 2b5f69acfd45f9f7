/** The whole program as a user runs it: a child process with its own data directory and free ports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Credentials, Endpoints } from "#embedded/contract.ts";
import { endProcess, type ProcessIdentity, signalProcess } from "#kernel/process.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { entry } from "./command.ts";

export type Part = "main" | "restate" | "postgres";

export type Program = Awaited<ReturnType<typeof startProgram>>;

export const freePorts = {
  VEDETTE_API__PORT: "0",
  VEDETTE_CONTROL__PORT: "0",
  VEDETTE_WORKER__PORT: "0",
  VEDETTE_RESTATE__INGRESS_PORT: "0",
  VEDETTE_RESTATE__ADMIN_PORT: "0",
  VEDETTE_DATABASE__PORT: "0",
  VEDETTE_METRICS__PORT: "0",
};

/**
 * Starts the program with one sentinel, free ports and no analytics, and waits until it is ready; `environment`
 * goes over these. `main`: of another checkout.
 */
export async function startProgram(environment: Record<string, string> = {}, main = entry) {
  const dir = makeTempDir();
  const endpointsFile = path.join(dir.path, "endpoints.json");
  let child: ChildProcess | undefined;
  let closed: Promise<unknown> = Promise.resolve();
  let output = "";

  /** `changes`: of the environment, for this start; undefined: without the variable. */
  const start = async (changes: Record<string, string | undefined> = {}) => {
    const outputBefore = output.length;
    const started = spawn(process.execPath, [main, "start"], {
      env: {
        PATH: process.env["PATH"],
        ...freePorts,
        VEDETTE_DATA_DIR: dir.path,
        VEDETTE_FLEET__PROCESS__SIZE: "1",
        VEDETTE_ANALYTICS__ENABLED: "false",
        ...environment,
        ...changes,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child = started;
    closed = once(started, "close");
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    started.stdout.on("data", keep);
    started.stderr.on("data", keep);
    await waitFor(() => hasEnded(started) || readEndpoints()?.pid === started.pid, {
      withinMs: 60_000,
      what: "the program to be ready",
    });
    // Also when a test kills it while it starts: then there is nothing to wait for.
    if (hasEnded(started)) {
      throw new Error(`the program ended before it was ready: ${output.slice(outputBefore)}`);
    }
  };

  const readEndpoints = () =>
    existsSync(endpointsFile)
      ? Endpoints.parse(JSON.parse(readFileSync(endpointsFile, "utf8")))
      : undefined;

  const endpoints = () => {
    const found = readEndpoints();
    if (found?.control === undefined) throw new Error("the program is not ready");
    return { ...found, control: found.control };
  };

  const token = () => {
    const file = path.join(dir.path, "credentials.json");
    return Credentials.parse(JSON.parse(readFileSync(file, "utf8"))).ingress_token;
  };

  const hasStopped = () => child === undefined || hasEnded(child);

  const stop = async () => {
    const running = child;
    if (running !== undefined && !hasEnded(running)) {
      running.kill("SIGTERM");
      const what = "the program to stop";
      await waitFor(() => hasEnded(running), { withinMs: 30_000, what }).catch((cause: unknown) => {
        running.kill("SIGKILL");
        throw new Error(`${what}, which said: ${output.slice(-4_000)}`, { cause });
      });
      // Its last output may come after its end.
      await closed;
    }
    return running?.exitCode ?? null;
  };

  const post = async (path: string, body: unknown = {}, as = token()) => {
    const answer = await fetch(`${endpoints().control}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const parsed = (await answer.json()) as Record<string, unknown>;
    return { status: answer.status, body: parsed };
  };

  await start();
  return {
    dataDir: dir.path,
    endpoints,
    token,
    output: () => output,
    start,
    hasStopped,
    stop,
    /** Ends a part as a power failure would. The program's own process is to be started again. */
    kill9: (part: Part) => {
      if (part === "main") child?.kill("SIGKILL");
      else signalProcess(readIdentity(dir.path, part), "SIGKILL");
    },
    call: (handler: string, body: unknown = {}) =>
      post(`vedette.v1.SentinelRolloutService/singleton/${handler}`, body),
    /** With the token of an operator. */
    callAs: (as: string, handler: string, body: unknown = {}) =>
      post(`vedette.v1.SentinelRolloutService/singleton/${handler}`, body, as),
    /** Any handler behind the control gateway. */
    post,
    /** Asks analytics, whose store starts with its first question, and waits for the answer. */
    askAnalytics: () =>
      waitFor(
        async () => {
          const file = path.join(dir.path, "credentials.json");
          const { root_key } = Credentials.parse(JSON.parse(readFileSync(file, "utf8")));
          const answer = await fetch(`${endpoints().api}/v2/analytics.getVerifications`, {
            method: "POST",
            headers: { authorization: `Bearer ${root_key}`, "content-type": "application/json" },
            body: JSON.stringify({ query: "SELECT count() AS n FROM key_verifications_v1" }),
          });
          return answer.ok;
        },
        { withinMs: 10_000, what: "an answer of analytics" },
      ),
    /** Stops the program, ends whatever a kill has left, and removes the data. */
    dispose: async () => {
      await stop();
      for (const part of ["restate", "postgres"] as const) {
        if (!existsSync(pidFile(dir.path, part))) continue;
        const left = readIdentity(dir.path, part);
        await endProcess(left, { signal: "SIGKILL", graceMs: 0 });
      }
      dir.remove();
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function pidFile(dataDir: string, part: Part): string {
  return path.join(dataDir, `${part}.pid.json`);
}

function readIdentity(dataDir: string, part: Part): ProcessIdentity {
  return JSON.parse(readFileSync(pidFile(dataDir, part), "utf8")) as ProcessIdentity;
}
