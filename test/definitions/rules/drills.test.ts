/** Drills as rows: what they say, and what the monitor makes of them. */
import { expect, it } from "vitest";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow, DrillRow } from "#definitions/rows/fields.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { lintSet } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { planApply } from "#definitions/rules/plan.ts";
import { warnOfChecks } from "#definitions/rules/warnings.ts";
import { Heartbeat } from "#monitor/contract.ts";

const channels = [
  { id: "production", kind: "incident" },
  { id: "staging", kind: "incident", environment: "staging" },
  { id: "chat", kind: "slack", url: "{{SLACK_URL}}" },
].map((row) => ChannelRow.parse(row));
const given = { id: "weekly", cron: "0 9 * * 1", channels: ["production", "chat"] };
const setOf = (row: object, more: Partial<DefinitionSet> = {}): DefinitionSet => ({
  ...emptySet,
  channels,
  drills: [DrillRow.parse(row)],
  ...more,
});

it("a drill is a heartbeat that knows what it tests, and alerts what it tests by default", () => {
  const { heartbeats } = toMonitored(setOf(given));

  expect(heartbeats).toEqual([
    {
      id: "weekly",
      name: "weekly",
      environment: "production",
      watches: "that a test alert arrives at production, chat",
      schedule: { cron: "0 9 * * 1", timezone: "UTC" },
      graceSeconds: 960,
      drill: { graceSeconds: 900, channel: "production", directChannels: [channels[2]] },
      channel: "production",
      directChannels: [channels[2]],
    },
  ]);
  expect(heartbeats.map((row) => Heartbeat.parse(row))).toEqual(heartbeats);
});

it("a drill follows the rules of its dialect", () => {
  const ofCronJob = { ...given, cron: "0/30 9 ? * 1", cronDialect: "kubernetes" };

  const [drill] = toMonitored(setOf(ofCronJob)).heartbeats;

  expect(drill?.schedule).toEqual({ cron: ofCronJob.cron, timezone: "UTC", dialect: "kubernetes" });
  expect(toMonitored(setOf({ ...given, cronDialect: "debian" })).heartbeats[0]?.schedule).toEqual({
    ...{ cron: given.cron, timezone: "UTC" },
  });
});

it("other channels than those that are tested may be told that it failed", () => {
  const [drill] = toMonitored(setOf({ ...given, alert: ["chat"] })).heartbeats;

  expect(drill).toMatchObject({ channel: null, drill: { channel: "production" } });
});

it.each([
  ["no channel", { channels: [] }, "channels"],
  ["a wrong cron", { cron: "every day" }, "cron"],
  ["an offset as zone", { timezone: "+02:00" }, "timezone"],
  ["a cron of another dialect", { cron: "0 0 * * 7", cronDialect: "kubernetes" }, "cron"],
  ["an empty list of whom to alert", { alert: [] }, "alert"],
])("a drill with %s is refused", (_, changes, field) => {
  const issues = DrillRow.safeParse({ ...given, ...changes }).error?.issues ?? [];

  expect(issues.map(({ path }) => path[0])).toEqual([field]);
});

it("its channels have to be there, and of its environment", () => {
  const findings = lintSet(setOf({ ...given, channels: ["nobody"], alert: ["chat", "staging"] }));

  expect(findings).toMatchObject([
    { section: "drills", key: "weekly", field: ["channels", 0] },
    { section: "drills", key: "weekly", field: ["alert", 1] },
  ]);
});

it("a drill has not the id of a heartbeat", () => {
  const heartbeat = HeartbeatRow.parse({ id: "weekly", periodSeconds: 60, graceSeconds: 0 });

  expect(lintSet(setOf(given, { heartbeats: [heartbeat] }))).toMatchObject([
    { section: "drills", key: "weekly" },
  ]);
});

it("a heartbeat that becomes a drill is removed", () => {
  const heartbeat = HeartbeatRow.parse({ id: "weekly", periodSeconds: 60, graceSeconds: 0 });
  const present = { ...emptySet, channels, heartbeats: [heartbeat] };

  const { changes } = planApply(present, {
    definitions: setOf(given),
    removed: [],
    prune: false,
  });

  expect(changes).toEqual([
    { section: "heartbeats", key: "weekly", kind: "remove" },
    { section: "drills", key: "weekly", kind: "add" },
  ]);
});

it("a channel that cannot be sent to is warned of, and no ping URL is asked for", () => {
  const known = { hasSource: () => true, hasSecret: () => false, registered: new Set<string>() };

  expect(warnOfChecks(setOf(given), known)).toEqual([
    { section: "drills", key: "weekly", message: "channel chat needs VEDETTE_SECRET_SLACK_URL" },
  ]);
});
