import { expect, it } from "vitest";
import { ChannelRow } from "#definitions/rows/channel.ts";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { ApiCheck, hostedLocations } from "#monitor/contract.ts";

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

it("a check without a channel notifies nobody", () => {
  expect(monitored({ id: "shop", path: "/health" })).toMatchObject({
    path: "/health",
    channel: null,
  });
});
