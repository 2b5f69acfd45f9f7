/** One child process of the reference sentinel: start, health check, activation. */
import { type ChildProcess, spawn } from "node:child_process";
import { hash, randomBytes } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import pLimit from "p-limit";
import { z } from "zod";
import { parseMetrics, type Snapshot } from "#fleet/counters/counters.ts";
import { readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { identifyProcess, isAlive, programFile } from "#kernel/process.ts";
import type { Child, SentinelState } from "./process-state.ts";

export type ChildSettings = {
  id: string;
  region: string;
  image: string;
  publicPort: number;
  apiUrl: string;
  rootKey: string;
  upstreamUrl: string;
  /** Addresses (CIDR) of proxies in front of the sentinels, whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  /** The time for which it may take to become healthy. It ends itself when it is not activated well after that. */
  readyTimeoutMs: number;
  logFile: string;
};

/** The time for which a process may take to report its port. */
const startTimeoutMs = 20_000;

const askTimeoutMs = 2_000;
/** Another program may have its port by now. */
const maxAnswerBytes = 65_536;

/** `ending` resolves once the process has ended, with the reason. */
export type StartedChild = { child: Child; ending: Promise<string> };

/** Starts a sentinel that keeps running when we end. Throws with a reason code when it ends at once. */
export async function startChild(settings: ChildSettings): Promise<StartedChild> {
  const privateToken = randomBytes(16).toString("hex");
  const output = openSync(settings.logFile, "a", 0o600);
  const child = spawn(process.execPath, [programFile("#sentinel/main.ts")], {
    detached: true,
    env: { ...childEnvironment(settings), SENTINEL_PRIVATE_TOKEN: privateToken },
    stdio: ["ignore", output, output, "ipc"],
  });
  closeSync(output);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  const ending = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(describeExit(code, signal)));
  });
  try {
    const healthPort = await receivePort(child);
    if (identity === undefined) throw new Error("crash_loop: the process ended at once");
    const keyMark = markOfKey(settings.rootKey);
    return { child: { ...identity, healthPort, privateToken, keyMark }, ending };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}

/** Identifies the root key that a child was given, without revealing it. */
export function markOfKey(rootKey: string): string {
  return hash("sha256", `vedette sentinel ${rootKey}`, "base64url").slice(0, 12);
}

/** The port that the process reports once it listens. */
function receivePort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(reason));
    const timer = setTimeout(
      fail,
      startTimeoutMs,
      "start_error: the process did not report its port",
    );
    child.once("message", (message) => resolve(Ready.parse(message).healthPort));
    child.once("error", (error) => fail(`start_error: ${error.message}`));
    child.once("exit", (code, signal) => fail(describeExit(code, signal)));
    for (const event of ["message", "error", "exit"]) child.once(event, () => clearTimeout(timer));
  });
}

const Ready = z.object({ healthPort: z.int().positive() });

function childEnvironment(settings: ChildSettings): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    SENTINEL_ID: settings.id,
    SENTINEL_REGION: settings.region,
    SENTINEL_IMAGE: settings.image,
    SENTINEL_PUBLIC_PORT: String(settings.publicPort),
    SENTINEL_API_URL: settings.apiUrl,
    SENTINEL_ROOT_KEY: settings.rootKey,
    SENTINEL_UPSTREAM_URL: settings.upstreamUrl,
    SENTINEL_TRUSTED_PROXIES: settings.trustedProxies.join(","),
    SENTINEL_ACTIVATE_WITHIN_MS: String(settings.readyTimeoutMs + 60_000),
  };
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return `crash_loop: ${code === null ? `ended by ${signal}` : `exit code ${code}`}`;
}

export type Probe =
  | { state: "healthy" | "starting" }
  | { state: "failing"; reason: string }
  | { state: "gone" };

const HealthAnswer = z.object({ id: z.string(), image: z.string() });

/** Healthy only if the answer is from this sentinel with this image, not from something else. */
export async function probeChild(
  child: Child,
  expected: { id: string; image: string },
): Promise<Probe> {
  if (!isAlive(child)) return { state: "gone" };
  try {
    const answer = await ask(child, "GET", "/health");
    if (answer.status === 503) return { state: "starting" };
    if (answer.status !== 200) return failing(`health answers ${answer.status}`);
    const { id, image } = HealthAnswer.parse(JSON.parse(answer.text));
    const isOurs = id === expected.id && image === expected.image;
    return isOurs ? { state: "healthy" } : failing(`health names ${id} with ${image}`);
  } catch (error) {
    return isAlive(child) ? failing(`health: ${(error as Error).message}`) : { state: "gone" };
  }
}

function failing(detail: string): Probe {
  return { state: "failing", reason: `probe_failing: ${detail}` };
}

const readsAtOnce = 16;

/** The counters of those sentinels whose process answers. */
export async function readCountersOf(states: readonly Counted[]): Promise<Snapshot> {
  const limit = pLimit(readsAtOnce);
  const read = states.map(({ id, serving }) =>
    limit(async () => {
      const answer = serving && (await ask(serving, "GET", "/metrics").catch(() => null));
      const counters = answer?.status === 200 ? parseMetrics(answer.text) : undefined;
      return counters === undefined ? [] : [[id, counters] as const];
    }),
  );
  return new Map((await Promise.all(read)).flat());
}

type Counted = Pick<SentinelState, "id" | "serving">;

/** Lets a child open the sentinel's public port. Throws with a reason code when it cannot. */
export async function activateChild(child: Child): Promise<void> {
  const answer = await ask(child, "POST", "/activate");
  if (answer.status !== 204) throw new Error(`port_conflict: ${answer.text}`);
}

async function ask(child: Child, method: "GET" | "POST", path: string) {
  const answer = await request(`http://127.0.0.1:${child.healthPort}${path}`, {
    method,
    headers: { authorization: `Bearer ${child.privateToken}` },
    headersTimeout: askTimeoutMs,
    // Of the whole call.
    signal: AbortSignal.timeout(2 * askTimeoutMs),
  });
  return { status: answer.statusCode, text: String(await readBody(answer.body, maxAnswerBytes)) };
}
