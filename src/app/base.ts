/** The parts that every part of the program gets. */
import type { Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Credentials } from "#embedded/contract.ts";
import { pause } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import type { OwnService } from "#kernel/reach.ts";
import { isTracingWanted } from "#kernel/tracing.ts";
import type { Stops } from "./stops.ts";

export type Base = {
  config: Config;
  log: Log;
  dataDir: string;
  credentials: Credentials;
  /** The services of the settings; every part that listens adds its own. Nothing that others name may lead there. */
  services: readonly OwnService[];
  own: (name: string, url: string) => void;
  /** Registry to which every part adds its metrics. */
  registry: Registry;
  /** Announces that this process is about to end. */
  departure: Pick<Departure, "isAnnounced" | "announced">;
  /** Ends the program with this error, when it can no longer do its work. */
  fail: (error: Error) => void;
};

/** Announces that this process is about to end, so that load balancers stop sending it requests. */
type Departure = {
  isAnnounced: () => boolean;
  announced: Promise<void>;
  /** Resolves `seconds` after the announcement, or as soon as the program fails. */
  announce: (seconds: number) => Promise<void>;
};

/** `failed` resolves when the program has failed: that announces it as well. */
export function createDeparture(failed: Promise<unknown>): Departure {
  let isAnnounced = false;
  const announced = Promise.withResolvers<void>();
  const note = () => {
    isAnnounced = true;
    announced.resolve();
  };
  void failed.then(note);
  return {
    isAnnounced: () => isAnnounced,
    announced: announced.promise,
    announce: async (seconds) => {
      note();
      const waiting = new AbortController();
      const over = pause(seconds * 1_000, waiting.signal);
      await Promise.race([over, failed]).finally(() => waiting.abort());
    },
  };
}

/** Limit for sending the last spans. */
const tracesLimitMs = 5_000;

/** Exports traces if the environment wants it; nothing is loaded for them otherwise. */
export async function startTracing(log: Log, stops: Pick<Stops, "add">): Promise<void> {
  if (!isTracingWanted(process.env)) return;
  const { exportTraces } = await import("#kernel/trace-exporter.ts");
  stops.add("traces", exportTraces(process.env, log), tracesLimitMs);
}

/** The roles of a process; on a laptop one process has all (docs/architecture.md, "The parts"). */
export const roles = ["worker", "control", "api"] as const;
export type Role = (typeof roles)[number];
