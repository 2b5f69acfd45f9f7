/** A container's health check: exit code 0 when all roles answer. Few imports, because it starts every few seconds. */
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Endpoints } from "./contract.ts";

/** Limit of the whole check; the image's own limit is 3 s. */
const limitMs = 2_500;

type Probe = (url: string) => Promise<void>;

/** An address of each role that needs no authentication. */
const probes = {
  api: (url) => probeHttp(new URL("/v2/liveness", url)),
  control: (url) => probeHttp(new URL("/healthz", url)),
  // The worker speaks HTTP/2 without TLS, as Restate does; fetch cannot.
  worker: (url) => probeHttp2(url, "/health"),
} as const satisfies Partial<Record<keyof Endpoints, Probe>>;

/** One line for each role that doesn't answer as it should; empty: all are healthy. */
export async function findFaults(endpoints: Partial<Endpoints>): Promise<string[]> {
  const served = Object.entries(probes).flatMap(([role, probe]) => {
    const url = endpoints[role as keyof typeof probes];
    return url === undefined ? [] : [{ role, probed: probe(url) }];
  });
  if (served.length === 0) return ["no role is served"];
  const outcomes = await Promise.allSettled(served.map(({ probed }) => probed));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === "fulfilled" ? [] : [`${served[index]?.role}: ${reasonOf(outcome.reason)}`],
  );
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

async function probeHttp(url: URL): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs), redirect: "manual" });
  await answer.body?.cancel();
  requireOk(answer.status);
}

async function probeHttp2(url: string, target: string): Promise<void> {
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
  if (status !== 200) throw new Error(`answered ${status}`);
}

/** The addresses that the program publishes once it is ready. */
function readEndpoints(dataDir: string): Partial<Endpoints> {
  return JSON.parse(readFileSync(path.join(dataDir, "endpoints.json"), "utf8"));
}

async function poll(dataDir: string): Promise<string[]> {
  return findFaults(readEndpoints(dataDir));
}

async function main(): Promise<void> {
  const dataDir = process.env["VEDETTE_DATA_DIR"] || ".vedette";
  const faults = await poll(dataDir).catch((error) => [`not ready: ${reasonOf(error)}`]);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exit(faults.length === 0 ? 0 : 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
