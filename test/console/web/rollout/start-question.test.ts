/** What the confirmation of a start says of approvals. */
import { expect, it } from "vitest";
import { startWordsOf } from "#console/web/rollout/start-question.ts";
import { RolloutPlan } from "#rollout/contract.ts";

const image = "registry.example.com/team/app:v2";
const now = Date.parse("2026-12-20T12:00:00Z");
const later = "2026-12-21T12:00:00Z";

/** Three waves, of which these need an approval. */
function planOf(needed: readonly number[], earliest = new Date(now).toISOString()): RolloutPlan {
  const waves = [1, 2, 3].map((wave) => ({
    wave,
    percentage: 100,
    size: 4,
    covered: 4 * wave,
    regions: {},
    sentinels: [],
    needs_approval: needed.includes(wave),
    earliest_start: earliest,
  }));
  return RolloutPlan.parse({ image, total: 12, already_running: 0, waves });
}

const linesOf = (plan: RolloutPlan) =>
  startWordsOf({ request: { image }, plan }, now).lines.join(" ");

it.each<[number[], string]>([
  [[3], "Another operator has to approve wave 3."],
  [[1, 3], "Another operator has to approve waves 1 and 3."],
  [[1, 2, 3], "Another operator has to approve each of waves 1 to 3."],
  [[1, 2, 3], "starts once it is approved; 3 waves in all."],
])("of waves %j says that they need an approval", (needed, words) => {
  expect(linesOf(planOf(needed))).toContain(words);
});

it("says nothing of approvals that no wave needs", () => {
  expect(linesOf(planOf([]))).not.toContain("approve");
});

it("says both what a first wave waits for", () => {
  expect(linesOf(planOf([1, 2, 3], later))).toMatch(
    /starts not before .*Dec.*, once it is approved;/,
  );
});
