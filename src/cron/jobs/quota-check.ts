/** Notifies the operator of workspaces that are over their quota. It blocks no requests. */
import { dailyAt, type Job, type JobRun } from "#cron/schedule.ts";

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

export type Usage = {
  workspaceId: string;
  name: string;
  /** Billable verifications and limit decisions of this month. */
  used: number;
  /** Per month. */
  quota: number;
};

/** The time of the last notice about a workspace, by its id. */
type Notices = Record<string, { month: string; atMs: number }>;

/** A little less than seven days, so that a run at the same hour sends the reminder on the seventh. */
const remindAfterMs = (6 * 24 + 20) * 60 * 60_000;

/** The workspaces over their quota without a notice in this month or in the last week or so. */
export function noticesDue(usages: readonly Usage[], notices: Notices, nowMs: number): Usage[] {
  const month = monthOf(nowMs);
  return usages.filter(({ workspaceId, used, quota }) => {
    if (used < quota) return false;
    const last = notices[workspaceId];
    return last?.month !== month || nowMs - last.atMs >= remindAfterMs;
  });
}

/** Adds the notices that were sent now for `usages`, and drops those of other months. */
export function withNotices(notices: Notices, usages: readonly Usage[], nowMs: number): Notices {
  const month = monthOf(nowMs);
  const ofMonth = Object.entries(notices).filter(([, notice]) => notice.month === month);
  const added = usages.map(({ workspaceId }) => [workspaceId, { month, atMs: nowMs }] as const);
  return Object.fromEntries([...ofMonth, ...added]);
}

/** `2026-11` */
function monthOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

export function startOfMonth(atMs: number): number {
  return Date.parse(`${monthOf(atMs)}-01T00:00:00Z`);
}
