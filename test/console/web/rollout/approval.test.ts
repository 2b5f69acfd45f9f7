/** What the page says of a wave that waits for an approval, and to whom it offers to give it. */
import { describe, expect, it } from "vitest";
import type { LiveRollout } from "#console/contract.ts";
import { approveQuestion, hindranceOf, seenWave } from "#console/web/rollout/approval.ts";
import { isApprovalDue, resumeQuestion } from "#console/web/rollout/questions.ts";
import { ApproveRequest } from "#rollout/calls-contract.ts";
import { needsApproval } from "#rollout/conditions/approval.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { Approvals } from "#rollout/policy-contract.ts";

const waiting: RolloutStatus = {
  rollout_id: "inv_1",
  state: "in_progress",
  image: "registry.example.com/team/app:v2",
  current_wave: 1,
  total_waves: 2,
  total: 12,
  succeeded: 2,
  failed: 0,
  in_flight: 0,
  failed_sentinels: [],
  started_at: "2026-12-20T12:00:00.000Z",
  updated_at: "2026-12-20T12:00:00.000Z",
  waiting_for: "approval",
};

const wave = (number: number, size: number, succeeded = 0): LiveRollout["waves"][number] => ({
  wave: number,
  percentage: 100,
  size,
  succeeded,
  failed: 0,
  reverted: 0,
  not_reverted: 0,
  started_at: null,
  ended_at: null,
});

const live = (status: Partial<RolloutStatus> = {}): LiveRollout => ({
  status: { ...waiting, ...status },
  requested_image: null,
  started_by: "ada",
  ended_at: null,
  wave_percentages: [10, 100],
  reverted: 0,
  waves: [wave(1, 2, 2), wave(2, 10)],
  messages: [],
  previous_images: [],
  failures: [],
  legal: [],
  per_second: 0,
});

describe("the confirmation of Approve", () => {
  it("names the wave, its sentinels, who started it, and what has happened so far", () => {
    const { title, lines, verb } = approveQuestion(live({ policy: { reason: "incident 4711" } }));

    expect(title).toBe("Approve wave 2 of 2?");
    expect(lines).toEqual([
      "Wave 2 starts at once, or as soon as the windows allow it: 10 sentinels get app:v2.",
      "Started by ada. Reason: incident 4711.",
      "So far: 2 sentinels succeeded, none failed.",
    ]);
    expect(verb).toBe("Approve wave 2");
  });

  it("before the first wave counts nothing that nobody knows yet", () => {
    const first = { ...live({ current_wave: 0, total_waves: 0, succeeded: 0 }), waves: [] };

    const { title, lines } = approveQuestion(first);

    expect(title).toBe("Approve the first wave?");
    expect(lines[0]).toContain("its sentinels get app:v2");
    expect(lines[2]).toBe("Nothing is deployed yet.");
  });

  it("counts failures", () => {
    expect(approveQuestion(live({ failed: 1 })).lines[2]).toBe(
      "So far: 2 sentinels succeeded, 1 sentinel failed.",
    );
  });
});

it("Approve sends the rollout and the wave that were seen, as the handler takes them", () => {
  const sent = seenWave(waiting);

  expect(sent).toEqual({ rollout_id: "inv_1", wave: 2 });
  expect(ApproveRequest.safeParse(sent).success).toBe(true);
});

describe("the confirmation of Resume", () => {
  const paused = { state: "paused", cause: "operator", waiting_for: null } as const;

  it("says that the next wave waits for an approval, and does not promise its start", () => {
    const { lines, verb } = resumeQuestion(live({ ...paused, policy: { approvals: "last_wave" } }));

    expect(lines).toContain("Wave 2 then waits for an approval.");
    expect(verb).toBe("Resume the rollout");
  });

  it("says nothing of an approval that was given", () => {
    const approved = [{ wave: 2, by: "ben", at: "2026-12-20T12:00:00.000Z" }];
    const policy = { approvals: "last_wave" } as const;

    const { lines, verb } = resumeQuestion(live({ ...paused, policy, approved }));

    expect(lines.join(" ")).not.toContain("approval");
    expect(verb).toBe("Start wave 2");
  });
});

describe.each([[[10, 20, 100]], [[100]]])("of %j", (wavePercentages) => {
  it.each([undefined, ...Approvals.options])(
    "approvals %s are due as the server decides it",
    (approvals) => {
      const status = { ...waiting, total_waves: 3, policy: { approvals } };
      const rollout = { status, wave_percentages: wavePercentages };

      const due = [1, 2, 3].map((wave) => isApprovalDue(rollout, wave));

      const facts = { of: 3, wavePercentages };
      expect(due).toEqual([1, 2, 3].map((wave) => needsApproval(approvals, { wave, ...facts })));
    },
  );
});

describe("who can't approve", () => {
  it.each<[string, Parameters<typeof hindranceOf>[1], RegExp | undefined]>([
    [
      "the starter",
      { actor: "ada", roles: ["operate", "approve"] },
      /another operator has to approve/,
    ],
    [
      "the ingress token",
      { actor: "ingress-token", roles: ["operate", "approve"] },
      /sign in with a token of your own/,
    ],
    ["an operator without the role", { actor: "cem", roles: ["operate"] }, /not include approve/],
    ["an operator with the role", { actor: "ben", roles: ["approve"] }, undefined],
  ])("%s is told why, if so", (_, session, words) => {
    const hindrance = hindranceOf(live(), session);

    if (words === undefined) expect(hindrance).toBeUndefined();
    else expect(hindrance).toMatch(words);
  });
});
