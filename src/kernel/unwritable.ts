/** What a database can never keep, however often it is tried: it must not keep what follows it waiting. */

/** Why it can never be written; null: it is written. What may pass is thrown. */
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
 * Whether the data of a write is at fault, so that it can never be written however often it is tried:
 * SQLSTATE classes 22 (a value out of range, no text), 23 (a rule of the table) and 54 (too large),
 * or a time that is none.
 */
export function isOfData(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return (typeof code === "string" && unwritable.test(code)) || error instanceof RangeError;
}

const unwritable = /^(?:22|23|54)[0-9A-Z]{3}$/;
