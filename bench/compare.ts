/** Compares servers under the same load: alternating runs, and the median of each. */
import type { Served } from "./api-fixture.ts";
import { type Load, type LoadResult, load, mediansOf } from "./load.ts";
import { countFrom } from "./measure.ts";
import { reportFigure, reportTable } from "./run.ts";

const seconds = countFrom("BENCH_SECONDS", 5);
const runs = countFrom("BENCH_RUNS", 5);
const warmUpSeconds = 2;

/** The request to a server. */
type Contender = Served &
  Pick<Load, "path" | "body" | "headers" | "connections"> & {
    /** A text that the answer must contain, so that a refusal with status 200 doesn't count. */
    says?: string;
  };

/**
 * BENCH_SECONDS: of one run; BENCH_RUNS: of each server. Prints one table and returns its rows. Throws when
 * a request did not succeed, or the first answer lacks the expected text.
 */
export async function compare<Name extends string>(
  contenders: Record<Name, Contender>,
): Promise<Record<Name, LoadResult>> {
  const list = Object.entries(contenders) as [Name, Contender][];
  for (const [, contender] of list) {
    await checkAnswer(contender);
    await load({ ...contender, seconds: warmUpSeconds });
  }
  const results = new Map<Name, LoadResult[]>(list.map(([name]) => [name, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const [name, contender] of list) {
      results.get(name)?.push(await load({ ...contender, seconds }));
    }
  }
  const rows = Object.fromEntries(
    [...results].map(([name, found]) => [name, mediansOf(found)]),
  ) as Record<Name, LoadResult>;
  reportTable("Servers, one after the other", rows);
  return rows;
}

async function checkAnswer({ url, path, body, headers, says = "" }: Contender): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: body(),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await response.text();
  if (!answer.includes(says)) throw new Error(`${path}: ${response.status} ${answer}`);
}

/** The floor's CPU time where the aims for CPU times are to hold; it differs from machine to machine. */
const floorMicros = 20;

/** Reports the CPU time of a request, scaled to a machine on which the floor takes as long as the aims assume. */
export function reportCpu(found: LoadResult, floor: LoadResult, mostMicros: number): void {
  const micros = (found.cpuMicros / floor.cpuMicros) * floorMicros;
  reportFigure(`its CPU where the floor takes ${floorMicros} µs`, micros, {
    atMost: mostMicros,
    unit: "µs",
  });
}
