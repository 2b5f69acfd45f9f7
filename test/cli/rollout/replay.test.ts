import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { replayRollouts, reportReplay } from "#cli/rollout/replay.ts";
import { ReplayPolicy, type ReplayResult } from "#rollout/replay/contract.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const replay: ReplayResult = {
  rollout_id: "r-1",
  image: "registry.example.com/team/app:v2",
  started_at: "2026-01-01T00:00:00.000Z",
  really: {
    ...{ state: "completed", outcome: "completed", wave: 5, waves: 5 },
    ...{ ordered: 300, failed: 12, seconds: 1_800 },
  },
  would: {
    ...{ end: "paused", wave: 2, waves: 5, cause: "budget" },
    reason: "2 failed, 1 is allowed (max_failed.in_all)",
    ...{ ordered: 14, failed: 2, unknown: 0, seconds: 600 },
  },
  fewer: 286,
  longer_seconds: -900,
  notes: ["Operators resumed it or ended a wait once; nobody does in a replay."],
};

it("a replay is reported with what happened, what would have, and the difference", () => {
  expect(reportReplay(replay).split("\n")).toEqual([
    "registry.example.com/team/app:v2  r-1",
    "  really     completed in wave 5 of 5; 300 sentinels ordered, 12 failed, 30 min",
    "  would have paused in wave 2 of 5 (budget); 14 sentinels ordered, 2 failed, 10 min",
    "  reason     2 failed, 1 is allowed (max_failed.in_all)",
    "  difference 286 sentinels fewer, 15 min shorter",
    "  Operators resumed it or ended a wait once; nobody does in a replay.",
  ]);
});

/** The error of a replay with this policy; it comes before anything is asked. */
async function faultOf(text: string): Promise<string> {
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  const file = path.join(dir.path, "policy.yaml");
  writeFileSync(file, text);
  const options = { json: false, policy: file, url: "http://127.0.0.1:1" };
  const fault = await replayRollouts("r-1", options).catch((error: Error) => error.message);
  return `${fault}`.replaceAll(file, "policy.yaml");
}

it.each([
  ["max_fail: 1", 'policy.yaml: unknown name "max_fail": did you mean max_failed?'],
  ["max_failed: { in_all: x }", "policy.yaml: max_failed.in_all: must be a count"],
  ['{"soak_seconds": -1}', "policy.yaml: soak_seconds: "],
  ["image: a/b:c", 'policy.yaml: unknown name "image"'],
  ["a: [", "policy.yaml: is neither YAML nor JSON: "],
])("the policy file %j is refused with its fault", async (text, words) => {
  expect(await faultOf(text)).toContain(words);
});

it("one rollout or the newest ones have to be named, not both", async () => {
  const options = { json: false, policy: "policy.yaml" };

  await expect(replayRollouts(undefined, options)).rejects.toThrow("use --last");
  await expect(replayRollouts("r-1", { ...options, last: 3 })).rejects.toThrow("use --last");
});

it("an empty policy file is the rollout's own policy", () => {
  expect(ReplayPolicy.parse({})).toEqual({});
});
