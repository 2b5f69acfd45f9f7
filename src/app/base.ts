/** What every part of the program is given. */
import type { Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Credentials } from "#embedded/contract.ts";
import type { Departure } from "#kernel/departure.ts";
import type { Log } from "#kernel/log.ts";

export type Base = {
  config: Config;
  log: Log;
  dataDir: string;
  credentials: Credentials;
  /** Every part adds its own numbers to it. */
  registry: Registry;
  /** Whether this process is about to end. */
  departure: Departure;
  /** Has the program end with this error, once it can no longer do what it was started for. */
  fail: (error: Error) => void;
};
