/** Rules of credits and refills that no schema can express. */
import { invalidInput } from "#api/error.ts";
import type { Refill } from "#api/keys/schemas.ts";

/** The columns of a refill. Throws the 400 when day and interval do not match. */
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

/** Checks the credits of a new key: a refill needs limited credits. Throws the 400. */
export function requireRemaining(credits: {
  remaining: number | null;
  refill?: Refill | undefined;
}): void {
  if (credits.refill !== undefined && credits.remaining === null) {
    throw invalidInput("`credits.remaining` must be provided when `credits.refill` is set.");
  }
}
