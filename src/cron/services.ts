/** Everything of the timed jobs that Restate calls, put together. */
import { createCronObject } from "./object.ts";
import { createCronRunner, type RunnerParts } from "./runner.ts";

export function createCronServices(parts: RunnerParts) {
  return [createCronObject(parts.jobs), createCronRunner(parts)];
}
