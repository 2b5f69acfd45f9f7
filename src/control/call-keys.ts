/** Remembers each idempotency key's body: Restate answers a repeated key with the first result, whatever the body is. */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { targetOfPath } from "#kernel/actor.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { pathOf } from "#kernel/server.ts";
import { reusedKey } from "./refusal.ts";

/** `key` is unique per caller and handler. */
type KeyedCall = { key: string; body: string };

/** Records a call. Returns whether its key came with another body before. */
export type IsKeyReused = (call: KeyedCall) => Promise<boolean>;

/** Operators must be able to control a rollout while Postgres is away: after this timeout no call is refused. */
const timeoutMs = 2_000;

export function createIsKeyReused(database: Database, log: Log): IsKeyReused {
  const ask = async ({ key, body }: KeyedCall): Promise<boolean> => {
    const { rows } = await database.query(recordCall, [digest(key), digest(body)]);
    return rows[0]?.is_same === false;
  };
  return (call) =>
    inTime(
      () =>
        ask(call).catch((error: Error) => {
          log.warn({ err: error }, "idempotency key not looked up");
          return false;
        }),
      { limitMs: timeoutMs, otherwise: false },
    );
}

/**
 * The key that Restate gets. It differs from the keys that we generate, and from the same key of another
 * caller, who must not get this caller's answer. Without a key of its own a call is still made only once.
 * Throws the 422.
 */
export async function idempotencyKey(
  request: FastifyRequest,
  { actor, isKeyReused }: { actor: string; isKeyReused: IsKeyReused | undefined },
): Promise<string> {
  const given = request.headers["idempotency-key"];
  if (typeof given !== "string" || given === "") return `control-${request.id}`;
  const key = ownKey(actor, given);
  const { body = {} } = request;
  if ((await isKeyReused?.(keyedCall(pathOf(request), key, body))) === true) throw reusedKey();
  return key;
}

/** `key` is the one that Restate gets, and `body` as received: our parsing of it may change between versions. */
export function keyedCall(path: string, key: string, body: unknown): KeyedCall {
  return { key: JSON.stringify([targetOfPath(path) ?? path, key]), body: JSON.stringify(body) };
}

/** The key of one caller: nobody else's call is answered with what this one has led to. */
export function ownKey(actor: string, given: string): string {
  const key = JSON.stringify([actor, given]);
  return `caller-${createHash("sha256").update(key).digest("hex")}`;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

// A week is longer than Restate retains any result: one day after the end of a call, which lasts a day at most.
const recordCall = `
  WITH old AS (
    DELETE FROM control_call_keys WHERE key_hash IN (
      SELECT key_hash FROM control_call_keys
      WHERE seen_at < now() - interval '7 days' AND key_hash <> $1
      ORDER BY seen_at LIMIT 100 FOR UPDATE SKIP LOCKED
    )
  )
  INSERT INTO control_call_keys AS known (key_hash, body_hash) VALUES ($1, $2)
  ON CONFLICT (key_hash) DO UPDATE SET seen_at = now(), body_hash = CASE
    WHEN known.seen_at < now() - interval '7 days' THEN excluded.body_hash ELSE known.body_hash
  END
  RETURNING known.body_hash = $2 AS is_same`;
