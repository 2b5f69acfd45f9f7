/** What credits may be asked for that no schema can state. */
import { invalidInput } from "#api/error.ts";
import type { Refill } from "#api/keys/schemas.ts";

/** How a refill is stored. Throws a 400 when day and interval do not fit. */
export function refillColumns(refill: Refill | null | undefined): {
  refillAmount: number | null;
  refillDay: number | null;
} {
  if (refill === null || refill === undefined) return { refillAmount: null, refillDay: null };
  const { interval, amount, refillDay } = refill;
  if (interval === "monthly" && refillDay === undefined) {
    throw invalidInput(
      "`credits.refill.refillDay` must be provided when the interval is `monthly`.",
    );
  }
  if (interval === "daily" && refillDay !== undefined) {
    throw invalidInput(
      "`credits.refill.refillDay` must not be given when the interval is `daily`.",
    );
  }
  return { refillAmount: amount, refillDay: refillDay ?? null };
}

/** Credits of a new key: a refill needs something to fill up. */
export function requireRemaining(credits: {
  remaining: number | null;
  refill?: Refill | undefined;
}): void {
  if (credits.refill !== undefined && credits.remaining === null) {
    throw invalidInput("`credits.remaining` must be provided when `credits.refill` is set.");
  }
}
