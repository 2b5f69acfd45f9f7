/** Creates all objects of the timed jobs. */
import { type CronObjectParts, createCronObject } from "./object.ts";
import { createJobRunService, type JobRunParts } from "./run.ts";

export function createCronServices(parts: JobRunParts & CronObjectParts) {
  return [createCronObject(parts), createJobRunService(parts)];
}
