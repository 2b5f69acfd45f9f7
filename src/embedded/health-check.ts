/**
 * Asks a running program whether it is well, for a container's health check: exit code 0 when each
 * role that this data directory's program serves answers, else 1 and a line that says which does not.
 * A program of its own, which loads nothing: it is started every few seconds.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Endpoints } from "./contract.ts";

/** For all of it; the image's own limit is 3 s. */
const limitMs = 2_500;

type Ask = (url: string) => Promise<void>;

/** What each role serves without asking who it is. */
const asks = {
  api: (url) => askHttp(new URL("/v2/liveness", url)),
  control: (url) => askHttp(new URL("/healthz", url)),
  // Its requests come from Restate, by HTTP/2 without TLS, which fetch does not speak.
  worker: (url) => askHttp2(url, "/health"),
} as const satisfies Partial<Record<keyof Endpoints, Ask>>;

/** One line for each role that does not answer as it should; none: all is well. */
export async function findFaults(endpoints: Partial<Endpoints>): Promise<string[]> {
  const served = Object.entries(asks).flatMap(([role, ask]) => {
    const url = endpoints[role as keyof typeof asks];
    return url === undefined ? [] : [{ role, asked: ask(url) }];
  });
  if (served.length === 0) return ["no role is served"];
  const outcomes = await Promise.allSettled(served.map(({ asked }) => asked));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === "fulfilled" ? [] : [`${served[index]?.role}: ${reasonOf(outcome.reason)}`],
  );
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

async function askHttp(url: URL): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs), redirect: "manual" });
  await answer.body?.cancel();
  requireOk(answer.status);
}

async function askHttp2(url: string, target: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const session = connect(url);
  const timer = setTimeout(() => reject(new Error(`no answer in ${limitMs} ms`)), limitMs);
  session.on("error", reject);
  session
    .request({ ":path": target })
    .on("error", reject)
    .on("response", (headers) => resolve(Number(headers[":status"])))
    .on("close", () => reject(new Error("no answer")))
    .resume();
  try {
    requireOk(await promise);
  } finally {
    clearTimeout(timer);
    session.destroy();
  }
}

function requireOk(status: number): void {
  if (status !== 200) throw new Error(`it answers ${status}`);
}

/** Where the program says it listens; it says so once it is ready. */
function readEndpoints(dataDir: string): Partial<Endpoints> {
  return JSON.parse(readFileSync(path.join(dataDir, "endpoints.json"), "utf8"));
}

async function main(): Promise<void> {
  const dataDir = process.env["VEDETTE_DATA_DIR"] || ".vedette";
  const faults = await Promise.try(() => findFaults(readEndpoints(dataDir))).catch((error) => [
    `not ready: ${reasonOf(error)}`,
  ]);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exit(faults.length === 0 ? 0 : 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
