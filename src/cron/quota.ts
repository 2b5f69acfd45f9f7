/** For which workspaces to send a notice that they are over their quota. */

export type Usage = {
  workspaceId: string;
  name: string;
  /** Billable verifications and limit decisions of this month. */
  used: number;
  /** Per month. */
  quota: number;
};

/** When the last notice about a workspace was sent, by its id. */
export type Notices = Record<string, { month: string; atMs: number }>;

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
export function monthOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

export function startOfMonth(atMs: number): number {
  return Date.parse(`${monthOf(atMs)}-01T00:00:00Z`);
}
