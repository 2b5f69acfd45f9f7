/** keys.verifyKey, in the wire contract's order: the first failed check gives the code; nothing after it is counted. */
import { latencySince } from "#api/analytics/recording/recorder.ts";
import type { KeyRecord } from "#api/cache/key-record.ts";
import {
  type AppliedLimit,
  chooseLimits,
  describeVerification,
  toLimitRequest,
  type Verdict,
} from "#api/keys/verify/answer.ts";
import { clientAddress } from "#api/keys/verify/find-key.ts";
import {
  exampleVerification,
  readKeyAlone,
  type VerifyCode,
  VerifyInput,
  VerifyOutput,
} from "#api/keys/verify/schemas.ts";
import { type Answer, type Call, procedure } from "#api/procedure.ts";
import { isListed } from "#kernel/address.ts";
import type { KeyParts, VerifyParts } from "./parts.ts";
import {
  answersQuery,
  type PermissionQuery,
  parsePermissionQuery,
} from "./verify/permission-query.ts";

export function verifyKey({ verify }: KeyParts) {
  return procedure({
    summary: "Verifies whether a key may be used now, and records the verification.",
    input: VerifyInput,
    readUsual: readKeyAlone,
    output: VerifyOutput,
    example: exampleVerification,
    refusals: [412],
    handle: createVerify(verify),
  });
}

export function createVerify(parts: VerifyParts) {
  return async (input: VerifyInput, call: Call): Promise<Answer<VerifyOutput>> => {
    const startedAt = performance.now();
    const found = parts.findKey(input.key, input, call);
    const record = found instanceof Promise ? await found : found;
    if (record === undefined || !isVisible(record, call)) {
      return { data: { valid: false, code: "NOT_FOUND" } };
    }
    const query =
      input.permissions === undefined ? undefined : parsePermissionQuery(input.permissions);
    const judging = judge(parts, { record, input, call, query });
    const verdict = judging instanceof Promise ? await judging : judging;
    // Recorded before the answer is sent, so that it is counted even if this process is killed right after.
    await recordVerdict(parts, { record, input, call, verdict, startedAt });
    return { data: describeVerification(record, verdict) };
  };
}

/** True if the caller may verify the key; if not, it is answered like one that does not exist. */
function isVisible(record: KeyRecord, { workspaceId, grants }: Call): boolean {
  if (record.workspaceId !== workspaceId || record.isApiDeleted) return false;
  return (
    grants.allow("api.*.verify_key") ||
    grants.allow(`api.${record.apiId}.verify_key`) ||
    grants.allow(
      `unkey:v1:${workspaceId}:keyspaces/${record.keySpaceId}/keys/${record.id}#verify_key`,
    )
  );
}

type Subject = {
  record: KeyRecord;
  input: VerifyInput;
  call: Call;
  query: PermissionQuery | undefined;
};

/** Returns a promise only when something has to be asked for. */
function judge(parts: VerifyParts, subject: Subject): Verdict | Promise<Verdict> {
  const { record, input } = subject;
  const code = checkRecord(subject);
  if (code !== "VALID") return withCredits(parts, record, { code, spentCredits: 0 });
  const applied = chooseLimits(record, input.ratelimits ?? []);
  if (applied.length === 0 && !record.hasCredits) return { code, spentCredits: 0 };
  return count(parts, subject, applied);
}

/** Counts against the limits, then takes the credits. */
async function count(
  parts: VerifyParts,
  subject: Subject,
  applied: AppliedLimit[],
): Promise<Verdict> {
  const { record, input } = subject;
  const limits = await takeLimits(parts, subject, applied);
  if (limits?.taken.passed === false) {
    return withCredits(parts, record, { code: "RATE_LIMITED", limits, spentCredits: 0 });
  }
  const limited = limits === undefined ? {} : { limits };
  if (!record.hasCredits) return { code: "VALID", ...limited, spentCredits: 0 };
  const cost = input.credits?.cost ?? 1;
  const { isPaid, remaining } = await parts.spendCredits(record.id, cost);
  return isPaid
    ? { code: "VALID", ...limited, remaining, spentCredits: remaining === null ? 0 : cost }
    : { code: "USAGE_EXCEEDED", ...limited, remaining, spentCredits: 0 };
}

/** The checks that need only the key's record. */
function checkRecord({ record, call, query }: Subject): VerifyCode {
  if (record.isDeleted) return "NOT_FOUND";
  if (!record.isWorkspaceEnabled) return "FORBIDDEN";
  if (!record.isEnabled) return "DISABLED";
  if (record.expiresMs !== null && record.expiresMs <= call.nowMs) return "EXPIRED";
  if (!isFromAllowedAddress(record, call)) return "FORBIDDEN";
  if (query !== undefined && !answersQuery(query, new Set(record.permissions))) {
    return "INSUFFICIENT_PERMISSIONS";
  }
  return "VALID";
}

function isFromAllowedAddress({ ipAllowlist }: KeyRecord, call: Call): boolean {
  if (ipAllowlist === null || ipAllowlist.length === 0) return true;
  const address = clientAddress(call.headers["x-forwarded-for"], call.remoteIp);
  return isListed(ipAllowlist, address);
}

async function takeLimits(
  { limiter }: VerifyParts,
  { call }: Subject,
  applied: AppliedLimit[],
): Promise<Verdict["limits"]> {
  if (applied.length === 0) return undefined;
  const requests = applied.map((limit) => toLimitRequest(call.workspaceId, limit));
  const taking = limiter.take(requests, call.nowMs);
  return { applied, taken: taking instanceof Promise ? await taking : taking };
}

/** Adds the remaining credits of a key with credits, even when it is refused for another reason. */
function withCredits(
  { readCredits }: VerifyParts,
  record: KeyRecord,
  verdict: Verdict,
): Verdict | Promise<Verdict> {
  if (!record.hasCredits) return verdict;
  return readCredits(record.id).then((remaining) => ({ ...verdict, remaining }));
}

type Judgement = Omit<Subject, "query"> & { verdict: Verdict; startedAt: number };

function recordVerdict({ recorder, region }: VerifyParts, judged: Judgement): Promise<void> | void {
  const { record, input, call, verdict, startedAt } = judged;
  if (call.headers["x-unkey-metrics"] === "disabled") return;
  return recorder.verification({
    request_id: call.requestId,
    time: call.nowMs,
    workspace_id: record.workspaceId,
    key_space_id: record.keySpaceId,
    identity_id: record.identity?.id ?? "",
    external_id: record.identity?.externalId ?? "",
    key_id: record.id,
    region,
    source: "api",
    outcome: verdict.code,
    tags: input.tags ?? [],
    spent_credits: verdict.spentCredits,
    latency: latencySince(startedAt),
  });
}
