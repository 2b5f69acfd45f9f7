/** The proof of a rollout: an in-toto statement in a DSSE envelope, signed with the installation's key. */
import { z } from "zod";
import { CiEvidence } from "#ci/contract.ts";
import { Envelope } from "#kernel/dsse.ts";
import { CiRun } from "#kernel/roles.ts";
import { isClean } from "#kernel/text.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { Gate, GateStatus } from "#rollout/gates/contract.ts";
import { Policy } from "#rollout/policy-contract.ts";

export const payloadType = "application/vnd.in-toto+json";
const statementType = "https://in-toto.io/Statement/v1";
const predicateType = "urn:vedette:rollout-proof:v1";
export const statementTypes = { _type: statementType, predicateType } as const;

/** The page of the keys with which proofs are and were signed: a JSON web key set. */
export const proofKeysPath = "/.well-known/vedette-proof-keys.json";

const Time = z.iso.datetime();

const ProvenWave = z.object({
  wave: z.int().meta({ description: "From 1." }),
  percentage: z.int(),
  size: z.int(),
  started_at: Time.nullable(),
  ended_at: Time.nullable().meta({
    description: "The time when all of its sentinels had a result.",
  }),
  succeeded: z.int(),
  failed: z.int(),
  reverted: z.int(),
  not_reverted: z.int(),
  unfinished: z.int().meta({
    description:
      "Sentinels without a result: never ordered, or still in flight when this was signed.",
  }),
  gates: GateStatus.optional().meta({
    description: "The last readings of the gates that followed it. Absent: none were closed.",
  }),
});

export const RolloutProof = z
  .object({
    rollout_id: z.string(),
    revision: z.int().meta({
      description:
        "Grows with each change of the rollout: of two proofs of it the greater one counts.",
    }),
    installation: z.string(),
    fleet: z.string(),
    requested_image: z.string(),
    image: z.string().meta({ description: "As it was deployed." }),
    outcome: z.enum(["completed", "cancelled", "rolled_back"]),
    cause: z.string().optional(),
    reason: z.string().optional(),
    started_by: z.string().nullable().meta({ description: "null: a caller without a name." }),
    ci_run: CiRun.optional(),
    started_at: Time,
    ended_at: Time,
    signed_at: Time,
    ci: z.array(CiEvidence).meta({ description: "Empty: the settings require none." }),
    policy: Policy,
    gates: z.array(Gate),
    plan: z.object({
      wave_percentages: z.array(z.int()),
      fleet_size: z.int().nullable(),
      total: z.int().meta({ description: "The sentinels of all waves." }),
      left_out: z.int(),
      previous_images: z
        .array(z.object({ image: z.string(), sentinels: z.int() }))
        .meta({ description: "The images before, the most frequent first; 100 at most." }),
    }),
    approvals: RolloutStatus.shape.approved.unwrap(),
    waves: z.array(ProvenWave),
    failures: z
      .array(
        z.object({
          id: z.string(),
          wave: z.int(),
          outcome: z.string().nullable(),
          reason: z.string(),
        }),
      )
      .meta({ description: "100 at most; the waves have the counts." }),
    events: z
      .array(
        z.object({
          event: z.string(),
          at: Time,
          by: z
            .string()
            .nullable()
            .meta({ description: "The operator who caused it; null: none." }),
          lines: z.array(z.string()),
        }),
      )
      .meta({ description: "Each transition with its message, the oldest first; the last 1,000." }),
  })
  .meta({ title: "Proof of a rollout", description: `The predicate ${predicateType}.` });
export type RolloutProof = z.infer<typeof RolloutProof>;

export const ProofStatement = z.object({
  _type: z.literal(statementType),
  subject: z.tuple([
    z.object({ name: z.string(), digest: z.record(z.string(), z.string().min(1)) }),
  ]),
  predicateType: z.literal(predicateType),
  predicate: RolloutProof,
});
export type ProofStatement = z.infer<typeof ProofStatement>;

const ProofRequest = z
  .strictObject({
    rollout_id: z.string().refine((id) => id !== "" && isClean(id, 300), {
      error: "must be a rollout id",
    }),
  })
  .meta({ title: "ProofRequest", examples: [{ rollout_id: "inv_1" }] });

export const proofsName = "vedette.v1.RolloutProofs";

export const proofHandlers = { Read: { input: ProofRequest, output: Envelope } } as const;

export type ProofProblemCode = "unknown_rollout" | "not_ended";
