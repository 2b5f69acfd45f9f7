/** Heartbeats that this program pings, drills and those of its timed jobs: they need no ping URL. Pure. */
import type { Definitions, Heartbeat } from "#monitor/contract.ts";

/** The settings without which a job of this program is off; empty: it is on. */
export type MissingOfJob = (job: string) => readonly string[];

/** True if it is a drill, or a job of this program pings it and is on. */
export function isPingedByUs(heartbeat: Heartbeat): boolean {
  return heartbeat.drill !== undefined || (heartbeat.job !== undefined && !isJobOff(heartbeat));
}

export function isJobOff({ missingSettings = [] }: Heartbeat): boolean {
  return missingSettings.length > 0;
}

/** The definitions, with what the settings of this process say of the jobs that they name. */
export function withMissingSettings(
  definitions: Definitions,
  missingOf: MissingOfJob,
): Definitions {
  const heartbeats = definitions.heartbeats.map((heartbeat) => {
    const missing = heartbeat.job === undefined ? [] : missingOf(heartbeat.job);
    return missing.length === 0 ? heartbeat : { ...heartbeat, missingSettings: [...missing] };
  });
  return { ...definitions, heartbeats };
}
