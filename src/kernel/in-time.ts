/** For what is better done without than waited for. */

/** The answer; `otherwise` when there is none within `limitMs`, or it fails. */
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
