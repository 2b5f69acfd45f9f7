import { expect, it } from "vitest";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { channels } from "#monitor/definitions/channels.ts";
import { lintDefinitions } from "#monitor/definitions/lint.ts";
import { aHeartbeat, anApiCheck } from "../../support/monitor/check-builders.ts";

const faultyChecks: [Partial<ApiCheck>, RegExp][] = [
  [{ locations: ["eu-central-1", "moon-1"] }, /unknown locations moon-1/],
  [{ locations: [] }, /no locations/],
  [{ locations: ["eu-west-1", "eu-west-1"] }, /named twice/],
  [{ frequencySeconds: 7 * 60 }, /no frequency of 420 s/],
  [{ degradedAboveMs: 2_000, failedAboveMs: 1_000 }, /degraded is above failed/],
  [{ degradedAboveMs: 0 }, /above 0/],
  [{ failedAboveMs: 31_000 }, /failed is above 30000 ms/],
  [{ frequencySeconds: 10 }, /longer than its period/],
  [{ failedRunThreshold: 99 }, /failed runs have to be 1 to 5/],
  [{ channel: "staging" }, /production check must not use the staging channel/],
  [{ environment: "staging" }, /staging check must not use the production channel/],
  [{ path: "v2/liveness" }, /is not the path/],
  [{ path: "/v2/live ness" }, /is not the path/],
  [{ path: "https://elsewhere.example/" }, /is not the path/],
  [{ name: "  " }, /name is empty/],
  [{ id: "Verify Key" }, /id has to be/],
  [{ id: "" }, /id has to be/],
  [{ assertions: [] }, /asserts nothing/],
  [
    {
      assertions: [
        { source: "status", equals: 200 },
        { source: "status", equals: 201 },
      ],
    },
    /more than one status/,
  ],
  [{ method: "GET", body: {} }, /GET has no body/],
  [{ headers: { authorization: "Bearer {{PASSWORD}}" } }, /unknown secrets PASSWORD/],
];

it.each(faultyChecks)("a check with %j is refused", (changes, message) => {
  const faults = lintDefinitions({ apiChecks: [anApiCheck(changes)], heartbeats: [], channels });

  expect(faults).toEqual([expect.stringMatching(message)]);
});

const faultyHeartbeats: [Partial<Heartbeat>, RegExp][] = [
  [{ periodSeconds: 29 }, /period has to be/],
  [{ periodSeconds: 366 * 86_400 }, /period has to be/],
  [{ graceSeconds: -1 }, /grace has to be/],
  [{ graceSeconds: 366 * 86_400 }, /grace has to be/],
  [{ watches: "" }, /what it watches/],
  [{ channel: "staging" }, /must not use the staging channel/],
];

it.each(faultyHeartbeats)("a heartbeat with %j is refused", (changes, message) => {
  const faults = lintDefinitions({ apiChecks: [], heartbeats: [aHeartbeat(changes)], channels });

  expect(faults).toEqual([expect.stringMatching(message)]);
});

it("an id that a check and a heartbeat share is refused", () => {
  const apiChecks = [anApiCheck({ id: "same" })];
  const heartbeats = [aHeartbeat({ id: "same" })];

  expect(lintDefinitions({ apiChecks, heartbeats, channels })).toEqual([
    "same: the id is taken twice",
  ]);
});

it("a channel that does not exist is refused", () => {
  const [, staging] = channels;

  const faults = lintDefinitions({
    apiChecks: [anApiCheck()],
    heartbeats: [],
    channels: staging ? [staging] : [],
  });

  expect(faults).toEqual(["verify-key: there is no production channel"]);
});

it("a heartbeat without a channel has no fault: it pages nobody", () => {
  const heartbeats = [aHeartbeat({ channel: null })];

  expect(lintDefinitions({ apiChecks: [], heartbeats, channels })).toEqual([]);
});
