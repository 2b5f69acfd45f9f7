/** What commands about the definitions of checks work with: no server, only the settings. */
import type { Definitions } from "#monitor/contract.ts";
import { defineMonitor } from "#monitor/definitions.ts";
import { lintDefinitions } from "#monitor/lint.ts";
import { readConfig } from "./config.ts";

/** One line per fault; empty: all is well. */
export function lintChecks(configFile: string | undefined) {
  const definitions = readDefinitions(configFile);
  const { apiChecks, heartbeats, channels } = definitions;
  return {
    apiChecks: apiChecks.length,
    heartbeats: heartbeats.length,
    channels: channels.length,
    faults: lintDefinitions(definitions),
  };
}

function readDefinitions(configFile: string | undefined): Definitions {
  return defineMonitor(readConfig({ file: configFile, environment: process.env }).monitor);
}
