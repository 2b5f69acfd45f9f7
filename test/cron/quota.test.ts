import { describe, expect, it } from "vitest";
import { noticesDue, startOfMonth, type Usage, withNotices } from "#cron/jobs/quota-check.ts";

const at = (text: string) => Date.parse(text);
const usage = (used: number, quota: number): Usage => ({
  workspaceId: "ws_1",
  name: "One",
  used,
  quota,
});

describe("noticesDue", () => {
  it("has a notice for a workspace that has reached its quota", () => {
    const due = noticesDue([usage(100, 100)], {}, at("2026-11-21T15:00:00Z"));

    expect(due).toHaveLength(1);
  });

  it("has none for a workspace below it", () => {
    const due = noticesDue([usage(99, 100)], {}, at("2026-11-21T15:00:00Z"));

    expect(due).toEqual([]);
  });

  it.each([
    ["the day after", "2026-11-02T15:00:00Z", 0],
    ["six days later", "2026-11-07T15:00:00Z", 0],
    ["seven days later", "2026-11-08T15:00:00Z", 1],
    ["seven days later, a little early", "2026-11-08T14:59:00Z", 1],
    ["in the next month", "2026-12-01T15:00:00Z", 1],
  ])("%s reminds as it should", (_, now, count) => {
    const usages = [usage(200, 100)];
    const notices = withNotices({}, usages, at("2026-11-01T15:00:00Z"));

    const due = noticesDue(usages, notices, at(now));

    expect(due).toHaveLength(count);
  });
});

it("the check drops the notices of other months", () => {
  const notices = { ws_old: { month: "2026-10", atMs: at("2026-10-30T15:00:00Z") } };

  const kept = withNotices(notices, [usage(2, 1)], at("2026-11-21T15:00:00Z"));

  expect(Object.keys(kept)).toEqual(["ws_1"]);
});

it("the check counts from the first of the month, UTC", () => {
  expect(startOfMonth(at("2026-11-21T15:00:00Z"))).toBe(at("2026-11-01T00:00:00Z"));
});
