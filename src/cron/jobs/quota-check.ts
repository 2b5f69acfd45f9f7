/** Notifies the operator of workspaces that are over their quota. It blocks no requests. */
import type { Job, JobRun } from "#cron/job.ts";
import {
  monthOf,
  type Notices,
  noticesDue,
  startOfMonth,
  type Usage,
  withNotices,
} from "#cron/quota.ts";
import { dailyAt } from "#cron/schedule.ts";

/** The usage since `sinceMs` of every workspace that has a quota and has reached it. */
export type ReadOverQuota = (sinceMs: number) => Promise<Usage[]>;

const noticesKey = "notices";

export function createQuotaCheck(readOverQuota: ReadOverQuota): Job {
  return {
    schedule: dailyAt(15),
    retryForMs: 60 * 60_000,
    run: async (run) => {
      const { nowMs, step, recall, remember } = run;
      const usages = await step("read-usage", () => readOverQuota(startOfMonth(nowMs)));
      const notices = (await recall<Notices>(noticesKey)) ?? {};
      const due = noticesDue(usages, notices, nowMs);
      for (const usage of due) notify(run, usage);
      remember(noticesKey, withNotices(notices, due, nowMs));
      return `${usages.length} workspaces over their quota, ${due.length} notices sent`;
    },
  };
}

function notify({ post, runId, nowMs }: JobRun, usage: Usage): void {
  const { workspaceId, name, used, quota } = usage;
  post("quota_check", {
    id: `quota-check#${runId}#${workspaceId}`,
    title: `${name} is over its quota`,
    tone: "warning",
    lines: [`${name} has used ${percent(used, quota)} of its quota of ${monthOf(nowMs)}.`],
    fields: [
      { name: "Workspace", value: workspaceId },
      { name: "Used", value: used.toLocaleString("en-US") },
      { name: "Quota", value: quota.toLocaleString("en-US") },
    ],
  });
}

function percent(used: number, quota: number): string {
  return quota === 0 ? "more" : `${Math.floor((used / quota) * 100)} %`;
}
