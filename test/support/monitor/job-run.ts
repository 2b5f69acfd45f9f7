/** What a timed job is given, without what makes it durable. */
import type { Notice } from "#alerts/contract.ts";
import type { JobRun } from "#cron/schedule.ts";

/** `memory` and `posted` are what the runs of one test have in common. */
export function createJobRun(given: Partial<JobRun> = {}) {
  const memory = new Map<string, unknown>();
  const posted: Notice[] = [];
  const run: JobRun = {
    runId: "run-1",
    nowMs: 0,
    step: (_, action) => action(),
    call: () => Promise.reject(new Error("this job calls no other service")),
    recall: async <T>(key: string) => (memory.get(key) as T | undefined) ?? null,
    remember: (key, value) => void memory.set(key, value),
    post: (_, message) => void posted.push(message),
    ...given,
  };
  return { run, memory, posted };
}
