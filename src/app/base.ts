/** The parts that every part of the program gets. */
import type { Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Credentials } from "#embedded/contract.ts";
import type { Departure } from "#kernel/departure.ts";
import type { Log } from "#kernel/log.ts";
import type { OwnService } from "#kernel/reach.ts";

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
