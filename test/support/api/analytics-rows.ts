import { randomUUID } from "node:crypto";
import { type Batch, batchesOf, encodeChunk, type RecordedTable } from "#api/analytics/batch.ts";
import type { RatelimitRow, VerificationRow } from "#api/analytics/recording/recorder.ts";

/** A verification of workspace `ws_1`; the fields given stand over it. */
export function verificationRow(fields: Partial<VerificationRow> = {}): VerificationRow {
  return {
    request_id: "req_1",
    time: Date.now(),
    workspace_id: "ws_1",
    key_space_id: "ks_1",
    identity_id: "",
    external_id: "",
    key_id: "key_1",
    region: "local",
    source: "api",
    outcome: "VALID",
    tags: [],
    spent_credits: 0,
    latency: 1.5,
    ...fields,
  };
}

/** A passed limit decision of workspace `ws_1`; the fields given stand over it. */
export function ratelimitRow(fields: Partial<RatelimitRow> = {}): RatelimitRow {
  return {
    request_id: "req_1",
    time: Date.now(),
    workspace_id: "ws_1",
    namespace_id: "rlns_1",
    identifier: "user_1",
    passed: true,
    latency: 0.5,
    override_id: "",
    limit: 10,
    remaining: 9,
    reset_at: Date.now() + 1_000,
    tokens: 1,
    ...fields,
  };
}

/** Rows, 5,000 at most, as one batch. */
export function encodeBatch(table: RecordedTable, rows: readonly object[]): Batch {
  const chunks = { key_verifications_v1: [], ratelimits_v1: [], [table]: [encodeChunk(rows)] };
  const { value } = batchesOf(randomUUID(), chunks).next();
  return value as Batch;
}
