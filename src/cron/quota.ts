/** Who is to be told of, because a workspace uses more than was agreed. */

export type Usage = {
  workspaceId: string;
  name: string;
  /** Billable verifications and limit decisions of this month. */
  used: number;
  /** Of a month. */
  quota: number;
};

/** When a workspace was last told of, by its id. */
export type Notices = Record<string, { month: string; atMs: number }>;

/** A little less than seven days, so that a check at the same hour reminds on the seventh. */
const remindAfterMs = (6 * 24 + 20) * 60 * 60_000;

/** Those over their quota that nobody was told of this month, or not for about a week. */
export function noticesDue(usages: readonly Usage[], notices: Notices, nowMs: number): Usage[] {
  const month = monthOf(nowMs);
  return usages.filter(({ workspaceId, used, quota }) => {
    if (used < quota) return false;
    const last = notices[workspaceId];
    return last?.month !== month || nowMs - last.atMs >= remindAfterMs;
  });
}

/** The notices after `told` were told of; those of other months are forgotten. */
export function withNotices(notices: Notices, told: readonly Usage[], nowMs: number): Notices {
  const month = monthOf(nowMs);
  const kept = Object.entries(notices).filter(([, notice]) => notice.month === month);
  const fresh = told.map(({ workspaceId }) => [workspaceId, { month, atMs: nowMs }] as const);
  return Object.fromEntries([...kept, ...fresh]);
}

/** `2026-11` */
export function monthOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

export function startOfMonth(atMs: number): number {
  return Date.parse(`${monthOf(atMs)}-01T00:00:00Z`);
}
