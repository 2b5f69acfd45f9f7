/** A verdict as the wire has it; empty values are left out, as the contract requires. */
import type { KeyRecord } from "#api/cache/key-record.ts";
import { ApiError, invalidInput } from "#api/error.ts";
import { describeIdentity } from "#api/identities/identity-store.ts";
import type { LimitRequest, TakeAnswer } from "#api/limiter.ts";
import type { RatelimitRule } from "#api/schemas/resources.ts";
import { present, presentList } from "#api/schemas/schema.ts";
import type { VerifyCode, VerifyOutput, VerifyRatelimit } from "./schemas.ts";

/** A rate limit that a verification requests by name. */
type RequestedLimit = {
  name: string;
  cost: number;
  limit?: number | undefined;
  duration?: number | undefined;
};

/** Decides which rate limits a verification counts against. */
export type AppliedLimit = {
  /** Empty for a limit that is defined by the request. */
  id: string;
  name: string;
  limit: number;
  durationMs: number;
  autoApply: boolean;
  cost: number;
  /** The key's id or the identity's: an identity's limit is shared by its keys. */
  ownerId: string;
};

/** Limit of `ratelimit.multiLimit`, too: each needs a counter, whose number is limited. */
const maxRequested = 100;

/**
 * The limits with `autoApply`, and the requested ones. A requested limit replaces an automatic one of the
 * same name; a limit of the key takes precedence over its identity's of the same name. Throws the 412 for
 * a name that neither has, the 400 for too many names.
 */
export function chooseLimits(
  record: KeyRecord,
  requested: readonly RequestedLimit[],
): AppliedLimit[] {
  if (requested.length > maxRequested) {
    throw invalidInput(`A verification can request at most ${maxRequested} rate limits.`);
  }
  if (requested.length === 0 && hasNoRules(record)) return [];
  const applied = new Map<string, AppliedLimit>();
  for (const { rule, ownerId } of rulesOf(record)) {
    if (rule.autoApply && !applied.has(rule.name)) {
      applied.set(rule.name, { ...rule, cost: 1, ownerId });
    }
  }
  for (const one of requested) applied.set(one.name, resolve(record, one));
  return [...applied.values()];
}

/** Most keys have none. */
function hasNoRules({ ratelimits, identity }: KeyRecord): boolean {
  return ratelimits.length === 0 && (identity === null || identity.ratelimits.length === 0);
}

type OwnedRule = { rule: RatelimitRule; ownerId: string };

function rulesOf({ id, ratelimits, identity }: KeyRecord): OwnedRule[] {
  const own = ratelimits.map((rule) => ({ rule, ownerId: id }));
  if (identity === null) return own;
  return [...own, ...identity.ratelimits.map((rule) => ({ rule, ownerId: identity.id }))];
}

function resolve(record: KeyRecord, requested: RequestedLimit): AppliedLimit {
  const { name, cost, limit, duration } = requested;
  if (limit !== undefined && duration !== undefined) {
    if (duration < 1_000) {
      throw invalidInput(
        `\`duration\` of rate limit '${name}' must be at least 1000 milliseconds.`,
      );
    }
    const own = { id: "", name, limit, durationMs: duration, autoApply: false };
    return { ...own, cost, ownerId: record.id };
  }
  const found = rulesOf(record).find(({ rule }) => rule.name === name);
  if (found === undefined) {
    throw new ApiError(
      "unkey/application/precondition_failed",
      `The requested rate limit '${name}' does not exist on the key or its identity. Create it there, or give \`limit\` and \`duration\` with it.`,
    );
  }
  return { ...found.rule, cost, ownerId: found.ownerId };
}

/** Returns the limiter's request. The name comes last, as it may contain any character. */
export function toLimitRequest(workspaceId: string, applied: AppliedLimit): LimitRequest {
  const { ownerId, name, limit, durationMs, cost } = applied;
  return { key: `${workspaceId}/${ownerId}/${name}`, limit, durationMs, cost };
}

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
