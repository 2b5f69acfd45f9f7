import { expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { warnOfChecks } from "#definitions/rules/warnings.ts";

const channel = ChannelRow.parse({ id: "pager", kind: "incident", environment: "staging" });
const checkOf = (channels: string[]) =>
  CheckRow.parse({
    id: "shop",
    url: "https://shop.example.com/",
    environment: "staging",
    channels,
  });
const known = { hasSource: () => true, hasSecret: () => true, registered: new Set<string>() };
const chat = ChannelRow.parse({ id: "chat", kind: "slack", url: "{{SLACK_URL}}" });

it("warns of a check that has no channel", () => {
  const warnings = warnOfChecks({ ...emptySet, checks: [checkOf([])] }, known);

  expect(warnings).toEqual([
    { section: "checks", key: "shop", message: "alerts nobody: it has no channel" },
  ]);
});

it("warns of a channel whose environment has no alert source, and names the settings", () => {
  const set = { ...emptySet, channels: [channel], checks: [checkOf(["pager"])] };

  const warnings = warnOfChecks(set, { ...known, hasSource: () => false });

  expect(warnings.map(({ message }) => message)).toEqual([
    "alerts nobody: channel pager needs incident.url and alerts.staging.source_id",
  ]);
});

it("the warning names the secret that a channel needs, and whether nobody else is notified", () => {
  const set = { ...emptySet, channels: [channel, chat] };
  const messagesOf = (channels: string[]) =>
    warnOfChecks({ ...set, checks: [checkOf(channels)] }, { ...known, hasSecret: () => false }).map(
      ({ message }) => message,
    );

  expect(messagesOf(["chat"])).toEqual([
    "alerts nobody: channel chat needs VEDETTE_SECRET_SLACK_URL",
  ]);
  expect(messagesOf(["pager", "chat"])).toEqual(["channel chat needs VEDETTE_SECRET_SLACK_URL"]);
});

it("warns of a heartbeat that nobody can ping yet", () => {
  const row = { environment: "staging", periodSeconds: 60, graceSeconds: 60, channels: ["pager"] };
  const heartbeats = ["nightly", "hourly"].map((id) => HeartbeatRow.parse({ id, ...row }));
  const set = { ...emptySet, channels: [channel], heartbeats };

  const warnings = warnOfChecks(set, { ...known, registered: new Set(["hourly"]) });

  expect(warnings).toEqual([
    {
      section: "heartbeats",
      key: "nightly",
      message: "has no ping URL: `vedette heartbeats register nightly` makes it",
    },
  ]);
});

it("the warnings do not ask for a ping URL for what a job of our own pings", () => {
  const heartbeat = HeartbeatRow.parse({
    id: "counts",
    periodSeconds: 300,
    graceSeconds: 60,
    job: "count-keys",
    channels: ["pager"],
  });

  const warnings = warnOfChecks(
    { ...emptySet, channels: [channel], heartbeats: [heartbeat] },
    known,
  );

  expect(warnings).toEqual([]);
});

it("a check that alerts somebody has no warning", () => {
  const set = { ...emptySet, channels: [channel], checks: [checkOf(["pager"])] };

  expect(warnOfChecks(set, known)).toEqual([]);
});
