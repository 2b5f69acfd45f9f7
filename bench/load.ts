/** Load on an HTTP address, and what it came to. */
import autocannon from "autocannon";
import { cpuMsOf, median } from "./measure.ts";

export type Load = {
  url: string;
  path: string;
  pid: number;
  /** The body of the next request. */
  body: () => string;
  headers?: Record<string, string>;
  seconds: number;
  connections?: number;
};

export type LoadResult = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor time of the server, microseconds a request. */
  cpuMicros: number;
};

/** Throws when any request was not answered with success. */
export async function load(settings: Load): Promise<LoadResult> {
  const { url, path, pid, body, headers, seconds, connections = 64 } = settings;
  const cpuBefore = cpuMsOf(pid);
  const result = await autocannon({
    url: `${url}${path}`,
    connections,
    duration: seconds,
    requests: [
      {
        method: "POST",
        path,
        headers: { "content-type": "application/json", ...headers },
        setupRequest: (request) => ({ ...request, body: body() }),
      },
    ],
  });
  const cpuMs = cpuMsOf(pid) - cpuBefore;
  const failed = result.non2xx + result.errors + result.timeouts;
  if (failed > 0)
    throw new Error(`${failed} of ${result.requests.total} requests failed at ${path}`);
  return {
    perSecond: result.requests.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    cpuMicros: (cpuMs * 1_000) / result.requests.total,
  };
}

/** Ten seconds of load, for a server that writes its own processor profile. */
export async function profile(settings: Omit<Load, "seconds">): Promise<void> {
  await load({ ...settings, seconds: 2 });
  console.table([await load({ ...settings, seconds: 10 })]);
}

export function mediansOf(list: readonly LoadResult[]): LoadResult {
  const of = (name: keyof LoadResult) => median(list.map((result) => result[name]));
  return {
    perSecond: Math.round(of("perSecond")),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    cpuMicros: Math.round(of("cpuMicros")),
  };
}
