/** Generates load on an HTTP address, and measures it. */
import { cpuMsOf, median } from "./measure.ts";
import { loadPeer } from "./packages.ts";

type Target = {
  url: string;
  path: string;
  /** The body of the next request. */
  body: () => string;
  headers?: Record<string, string>;
  seconds: number;
};

export type Load = Target & { pid: number; connections?: number };

type Answered = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
};

export type LoadResult = Answered & {
  /** Processor time of the server, microseconds a request. */
  cpuMicros: number;
};

/** The load generator, in bench/peers. */
export type Fire = (
  target: Target & { connections: number },
) => Promise<Answered & { sent: number; failed: number }>;

// Before any server is started, so that missing packages fail at once.
const { fire } = await loadPeer<{ fire: Fire }>("fire.ts");

/** Throws when any request did not succeed. */
export async function load({ pid, connections = 64, ...target }: Load): Promise<LoadResult> {
  const cpuBefore = cpuMsOf(pid);
  const { sent, failed, ...answered } = await fire({ ...target, connections });
  const cpuMs = cpuMsOf(pid) - cpuBefore;
  if (failed > 0) throw new Error(`${failed} of ${sent} requests failed at ${target.path}`);
  return { ...answered, cpuMicros: (cpuMs * 1_000) / sent };
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
