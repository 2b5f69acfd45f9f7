/** A verdict as the wire has it; empty values are left out, as the contract requires. */
import type { KeyRecord } from "#api/cache/key-record.ts";
import { describeIdentity } from "#api/identities/describe-identity.ts";
import type { TakeAnswer } from "#api/limiter.ts";
import { present, presentList } from "#api/schemas/present.ts";
import type { AppliedLimit } from "./applied-limits.ts";
import type { VerifyCode, VerifyOutput, VerifyRatelimit } from "./schemas.ts";

/** The result of the checks, up to the first that failed. */
export type Verdict = {
  code: VerifyCode;
  limits?: { applied: AppliedLimit[]; taken: TakeAnswer };
  /** Remaining credits; null: unlimited. */
  remaining?: number | null;
  spentCredits: number;
};

export function describeVerification(record: KeyRecord, verdict: Verdict): VerifyOutput {
  return {
    valid: verdict.code === "VALID",
    code: verdict.code,
    keyId: record.id,
    name: record.name ?? undefined,
    meta: present(record.meta),
    expires: record.expiresMs ?? undefined,
    credits: verdict.remaining ?? undefined,
    enabled: record.isEnabled,
    permissions: presentList(record.permissions),
    roles: presentList(record.roles),
    identity: record.identity === null ? undefined : describeIdentity(record.identity),
    ratelimits: describeLimits(verdict.limits),
  };
}

function describeLimits(limits: Verdict["limits"]): VerifyRatelimit[] | undefined {
  return limits?.applied.map(({ id, name, limit, durationMs, autoApply }, index) => {
    const answer = limits.taken.answers[index];
    return {
      exceeded: answer?.passed === false,
      id,
      name,
      limit,
      duration: durationMs,
      reset: answer?.resetMs ?? 0,
      remaining: answer?.remaining ?? 0,
      autoApply,
    };
  });
}
