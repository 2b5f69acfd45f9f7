import { describe, expect, it } from "vitest";
import {
  callerWords,
  capitalize,
  checkWords,
  isPersonal,
  offWords,
  rolloutOfAlert,
  starterWords,
  stateWords,
} from "#kernel/words.ts";

it.each([
  { status: "paused", missing_settings: ["monitor.key"], words: "off: set monitor.key" },
  {
    status: "paused",
    missing_settings: ["monitor.root_key", "monitor.key"],
    words: "off: set monitor.root_key and monitor.key",
  },
  { status: "pending", missing_settings: ["monitor.key"], words: "off: set monitor.key" },
  { status: "paused", missing_settings: [], words: "off until its next run" },
  { status: "ok", missing_settings: [], words: undefined },
] as const)("$status without $missing_settings: $words", ({ status, missing_settings, words }) => {
  expect(offWords({ status, missing_settings: [...missing_settings] })).toBe(words);
});

it("takes a heartbeat, which lacks none, as it is", () => {
  expect(offWords({ status: "late" })).toBeUndefined();
});

it("a degraded check is not called slow: a certificate may end soon", () => {
  expect(capitalize(checkWords.degraded)).toBe("Degraded");
});

describe("callerWords", () => {
  it.each([
    ["ingress-token", "the ingress token (no operator)"],
    ["ingress-token (ada)", "the ingress token (ada)"],
    ["local-caller", "a caller on this machine (no operator)"],
    ["restate-console", "the Restate console (no operator)"],
    ["alice", "alice"],
  ])("of %s are %s", (name, words) => {
    expect(callerWords(name)).toBe(words);
  });

  it("name nobody for each name that is nobody's", () => {
    expect(["ingress-token", "local-caller", "restate-console", "alice"].map(isPersonal)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

describe("stateWords", () => {
  it.each([
    [{ state: "idle" }, "no rollout yet"],
    [{ state: "in_progress" }, "in progress"],
    [{ state: "rolling_back" }, "rolling back"],
    [{ state: "cancelled", outcome: "rolled_back" }, "rolled back"],
    [{ state: "cancelled", outcome: "cancelled" }, "cancelled"],
  ])("of %o are %s", (stand, words) => {
    expect(stateWords(stand)).toBe(words);
  });
});

describe("rolloutOfAlert", () => {
  const openedAt = "2026-01-01T00:12:00.000Z";
  const image = "registry.example.com/vedette/sentinel:v7";

  it("names image and wave of a rollout in progress", () => {
    expect(rolloutOfAlert({ image, wave: 2 }, openedAt)).toBe(
      `during wave 2 of the rollout of ${image}`,
    );
  });

  it("does not blame a rollout that had ended before the failure", () => {
    expect(rolloutOfAlert({ image, wave: 2, ended_at: "2026-01-01T00:00:00.000Z" }, openedAt)).toBe(
      `the rollout of ${image} had ended 12 min before`,
    );
  });
});

it.each([
  [undefined, "ci:github:acme/shop"],
  [{}, "ci:github:acme/shop"],
  [{ run: "42" }, "ci:github:acme/shop (run 42)"],
  [
    { run: "42", workflow: ".github/workflows/rollout.yml", commit: "1a2b3c4d5e6f" },
    "ci:github:acme/shop (run 42 of rollout.yml, commit 1a2b3c4)",
  ],
])("whoever has started a rollout is named with the CI run: %j", (run, words) => {
  expect(starterWords("ci:github:acme/shop", run)).toBe(words);
});
