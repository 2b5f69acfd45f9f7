import type { ProofStatement } from "#rollout/proof/contract.ts";

const at = "2026-11-29T08:00:00.000Z";

/** The statement of a rollout that has completed in one wave. */
export const aStatement: ProofStatement = {
  _type: "https://in-toto.io/Statement/v1",
  subject: [{ name: "registry.example.com/team/sentinel", digest: { sha256: "ab".repeat(32) } }],
  predicateType: "urn:vedette:rollout-proof:v1",
  predicate: {
    ...{ rollout_id: "r-1", revision: 7, installation: "i-1", fleet: "singleton" },
    requested_image: "registry.example.com/team/sentinel:v2",
    image: `registry.example.com/team/sentinel:v2@sha256:${"ab".repeat(32)}`,
    outcome: "completed",
    started_by: "ada",
    ...{ started_at: at, ended_at: at, signed_at: at },
    ci: [{ kind: "commit", result: "passed", passes: true, detail: "2 checks have passed" }],
    policy: { approvals: "every_wave", max_failed: { in_all: "2%" } },
    gates: [{ kind: "checks", name: "checks", checks: ["a"], clean_runs: 1, timeout_seconds: 600 }],
    plan: {
      ...{ wave_percentages: [100], fleet_size: 4, total: 4, left_out: 0 },
      previous_images: [{ image: "registry.example.com/team/sentinel:v1", sentinels: 4 }],
    },
    approvals: [{ wave: 1, by: "ben", at }],
    waves: [
      {
        ...{ wave: 1, percentage: 100, size: 4, started_at: at, ended_at: at },
        ...{ succeeded: 4, failed: 0, reverted: 0, not_reverted: 0, unfinished: 0 },
      },
    ],
    failures: [],
    events: [{ event: "completed", at, by: null, lines: ["4 of 4."] }],
  },
};
