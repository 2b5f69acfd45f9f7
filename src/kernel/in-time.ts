/** A timeout for requests whose answer is not essential. */

/** The answer; `otherwise` when the request takes longer than `limitMs`, or fails. */
export async function inTime<Answer>(
  ask: () => Promise<Answer>,
  { limitMs, otherwise }: { limitMs: number; otherwise: Answer },
): Promise<Answer> {
  const late = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => late.resolve(otherwise), limitMs);
  try {
    return await Promise.race([ask().catch(() => otherwise), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
