/** Creates all objects of the timed jobs. */
import { createCronObject } from "./object.ts";
import { createJobRunService, type JobRunParts } from "./run.ts";

export function createCronServices(parts: JobRunParts) {
  return [createCronObject(parts.jobs), createJobRunService(parts)];
}
