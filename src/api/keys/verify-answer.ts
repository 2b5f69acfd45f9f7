/** How a verdict is told; empty values are left out, as the wire contract has it. */

import type { TakeAnswer } from "#api/ratelimit/limiter.ts";
import type { IdentityResponse, RatelimitResponse } from "#api/schema.ts";
import type { AppliedLimit } from "./applied-limits.ts";
import type { KeyRecord, RatelimitRule } from "./key-record.ts";
import type { VerifyCode, VerifyOutput, VerifyRatelimit } from "./verify-schemas.ts";

/** What the checks found, as far as they went. */
export type Verdict = {
  code: VerifyCode;
  limits?: { applied: AppliedLimit[]; taken: TakeAnswer };
  /** Credits left; null: the key has no limit. */
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

export function describeIdentity(identity: NonNullable<KeyRecord["identity"]>): IdentityResponse {
  return {
    id: identity.id,
    externalId: identity.externalId,
    meta: present(identity.meta),
    ratelimits: describeRules(identity.ratelimits),
  };
}

/** Limits as they are stored; undefined when there are none. */
export function describeRules(rules: readonly RatelimitRule[]): RatelimitResponse[] | undefined {
  return presentList(
    rules.map(({ id, name, limit, durationMs, autoApply }) => ({
      id,
      name,
      limit,
      duration: durationMs,
      autoApply,
    })),
  );
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

/** Undefined for an object without properties. */
export function present<Value extends object>(value: Value | null): Value | undefined {
  return value === null || Object.keys(value).length === 0 ? undefined : value;
}

function presentList<Item>(list: Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : list;
}
