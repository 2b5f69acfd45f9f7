import { expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { ApiCheck } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";

const pager = ChannelRow.parse({ id: "pager", kind: "incident", environment: "staging" });
const monitored = (row: object) =>
  toMonitored({ ...emptySet, channels: [pager], checks: [CheckRow.parse(row)] }).apiChecks[0];

it("a check has the whole address, every location and the environment of its channel", () => {
  const url = "https://shop.example.com/health";
  const row = { id: "shop", url, environment: "staging", channels: ["pager"] };

  const check = monitored(row);

  expect(check).toMatchObject({ path: url, locations: hostedLocations, channel: "staging" });
  expect(ApiCheck.parse(check)).toEqual(check);
});

it("a check has the rows of its further channels, in their order", () => {
  const mail = {
    id: "mail",
    kind: "email",
    url: "smtp://mail.example.com",
    from: "a@b.c",
    to: ["d@e.f"],
  };
  const channels = [mail, { id: "chat", kind: "slack", url: "{{SLACK_URL}}" }].map((row) =>
    ChannelRow.parse(row),
  );
  const row = {
    id: "shop",
    path: "/",
    environment: "staging",
    channels: ["chat", "pager", "mail"],
  };

  const { apiChecks, heartbeats } = toMonitored({
    ...emptySet,
    channels: [pager, ...channels],
    checks: [CheckRow.parse(row)],
    heartbeats: [
      HeartbeatRow.parse({ id: "job", periodSeconds: 60, graceSeconds: 0, channels: ["mail"] }),
    ],
  });

  expect(apiChecks).toMatchObject([{ channel: "staging", directChannels: [{ id: "chat" }, mail] }]);
  expect(heartbeats).toMatchObject([{ channel: null, directChannels: [mail] }]);
  expect(apiChecks.map((check) => ApiCheck.parse(check))).toEqual(apiChecks);
});

it("a check without a channel notifies nobody", () => {
  expect(monitored({ id: "shop", path: "/health" })).toMatchObject({
    path: "/health",
    channel: null,
  });
});
