/**
 * Which body an idempotency key came with. Restate answers a repeated key with the first result, whatever
 * the body is: who sends another one must not take that for the answer to it.
 */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import type { Log } from "#kernel/log.ts";
import { targetOfPath } from "#kernel/signed-actor.ts";
import { pathOf, reusedKey } from "./refusal.ts";

/** `key`: of one caller, for one handler. */
type KeyedCall = { key: string; body: string };

/** Notes a call, and answers whether its key came with another body before. */
export type IsKeyReused = (call: KeyedCall) => Promise<boolean>;

/** A rollout has to stay in reach while Postgres is away: then nobody is refused. */
const patienceMs = 2_000;

export function createIsKeyReused(database: Database, log: Log): IsKeyReused {
  const ask = async ({ key, body }: KeyedCall): Promise<boolean> => {
    const { rows } = await database.query(noteCall, [digest(key), digest(body)]);
    return rows[0]?.is_same === false;
  };
  return (call) =>
    inTime(
      () =>
        ask(call).catch((error: Error) => {
          log.warn({ detail: error.message }, "idempotency key not looked up");
          return false;
        }),
      { limitMs: patienceMs, otherwise: false },
    );
}

/**
 * The caller's own key, told apart from ours and from the same key of somebody else, who must not get
 * this one's answer; a caller without one still gets its call made once. Throws the 422.
 */
export async function idempotencyKey(
  request: FastifyRequest,
  { actor, isKeyReused }: { actor: string; isKeyReused: IsKeyReused | undefined },
): Promise<string> {
  const given = request.headers["idempotency-key"];
  if (typeof given !== "string" || given === "") return `control-${request.id}`;
  const key = JSON.stringify([actor, given]);
  const called = {
    key: JSON.stringify([targetOfPath(pathOf(request)), key]),
    body: bodyOf(request),
  };
  if ((await isKeyReused?.(called)) === true) throw reusedKey();
  return `caller-${createHash("sha256").update(key).digest("hex")}`;
}

/** As it came: what we make of it may change with our version. */
function bodyOf({ body = {} }: FastifyRequest): string {
  return JSON.stringify(body);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

// A week is longer than Restate remembers any result: a day from the end of a call of a day.
const noteCall = `
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
