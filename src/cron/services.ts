/** Everything of the timed jobs that Restate calls, put together. */
import { createCronObject } from "./object.ts";
import { createJobRunService, type JobRunParts } from "./run.ts";

export function createCronServices(parts: JobRunParts) {
  return [createCronObject(parts.jobs), createJobRunService(parts)];
}
