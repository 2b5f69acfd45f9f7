import { z } from "zod";
import { invalidInput } from "#api/error.ts";
import { lockKey, onKey, recordKey } from "#api/keys/store/key-access.ts";
import { demand, procedure } from "#api/procedure.ts";
import { bigintMax, int64Max, text, toBigint, whole } from "#api/schemas/schema.ts";
import type { KeyParts } from "./parts.ts";
import { CreditsResponse, exampleKeyId, exampleRefill } from "./schemas.ts";
import { describeCredits, type KeyDetails } from "./store/key-details.ts";

const Input = z.strictObject({
  keyId: text({ min: 3 }).describe("The id of the key, `key_…`: not the key itself."),
  value: whole({ min: 0, max: int64Max })
    .nullable()
    .describe(
      "How many credits. With `set` null removes the limit and the refill, and absent removes the limit alone; the other operations need a number.",
    )
    .optional(),
  operation: z
    .enum(["set", "increment", "decrement"])
    .describe(
      "What is done with `value`: it becomes the credits, or is added to or taken from them, down to 0.",
    ),
});
type Input = z.infer<typeof Input>;

export function updateCredits({ change }: KeyParts) {
  return procedure({
    summary: "Sets the credits of a key, or adds to or takes from them; never below zero.",
    input: Input,
    output: CreditsResponse,
    example: {
      body: { keyId: exampleKeyId, value: 250, operation: "increment" },
      data: { remaining: 1_000, refill: exampleRefill },
    },
    refusals: [404],
    handle: (input, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, input.keyId);
        demand(call, onKey(key, "update_key"));
        const { assignment, value } = assignmentOf(input, key);
        const { rows } = await made.transaction.query<Balance>(
          `UPDATE keys SET ${assignment}, updated_at = now() WHERE id = $1
           RETURNING remaining, refill_amount AS "refillAmount", refill_day AS "refillDay"`,
          value === undefined ? [key.id] : [key.id, value],
        );
        made.stale(`key:${key.id}`);
        const description = `Credits of key ${key.id}: ${input.operation} ${input.value ?? "unlimited"}`;
        recordKey(made, "key.update", { id: key.id, description });
        return { data: toCredits(rows[0] as Balance) };
      }),
  });
}

type Balance = { remaining: string | null; refillAmount: string | null; refillDay: number | null };

type Assignment = { assignment: string; value?: string };

function assignmentOf({ operation, value }: Input, key: KeyDetails): Assignment {
  if (operation === "set") return setting(value);
  if (value === undefined || value === null) {
    throw invalidInput(`\`value\` must be provided when the operation is \`${operation}\`.`);
  }
  if (key.remaining === null) {
    throw invalidInput(
      `A key with unlimited credits cannot be ${operation}ed; \`set\` them first.`,
    );
  }
  // The sum is numeric: that of two bigints may be larger than a bigint.
  return operation === "increment"
    ? {
        assignment: `remaining = least(remaining::numeric + $2::numeric, ${bigintMax})::bigint`,
        value: toBigint(value),
      }
    : { assignment: "remaining = greatest(remaining - $2::bigint, 0)", value: toBigint(value) };
}

/** An explicit null also removes the refill; a missing value does not change it. */
function setting(value: number | null | undefined): Assignment {
  if (value === undefined) return { assignment: "remaining = NULL" };
  if (value === null) {
    return { assignment: "remaining = NULL, refill_amount = NULL, refill_day = NULL" };
  }
  return { assignment: "remaining = $2::bigint", value: toBigint(value) };
}

function toCredits({ remaining, refillAmount, refillDay }: Balance): CreditsResponse {
  const number = (text: string | null) => (text === null ? null : Number(text));
  const balance = { remaining: number(remaining), refillAmount: number(refillAmount), refillDay };
  return describeCredits(balance) ?? { remaining: null };
}
