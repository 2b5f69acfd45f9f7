/** Recognizes data that a database will always refuse, so that it doesn't block the data after it. */

/** Why the data can never be written; null: it was written. Throws errors that may be temporary. */
export async function whyUnwritable(write: () => Promise<unknown>): Promise<string | null> {
  try {
    await write();
    return null;
  } catch (error) {
    if (!isOfData(error)) throw error;
    const { code, message } = error as Error & { code?: string };
    return code ?? message;
  }
}

/**
 * True if a write failed because of its data, so that retries are useless: SQLSTATE classes 22 (a value out of
 * range, invalid text), 23 (a constraint of the table) and 54 (too large), or an invalid time.
 */
export function isOfData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && unwritable.test(code)) || error instanceof RangeError;
}

const unwritable = /^(?:22|23|54)[0-9A-Z]{3}$/;
