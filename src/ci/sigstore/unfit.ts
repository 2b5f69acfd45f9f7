/** Why something attached to an image proves nothing. */
import { cleanWords } from "#kernel/log-text.ts";

/** Its message is for people, and may quote what others wrote: it is cleaned where it is shown. */
export class Unfit extends Error {}

/** Explains a failed verification. The library throws errors of every class on hostile input: some are mere accidents. */
export function explain(error: unknown): string {
  const isAccident = error instanceof TypeError || error instanceof RangeError;
  if (!(error instanceof Error) || isAccident) return "is malformed";
  const { fields } = error as { fields?: unknown };
  const named = Array.isArray(fields) ? ` (${fields.slice(0, 3).join(", ")})` : "";
  const causes = messagesOf(error.cause, 3);
  return cleanWords([`${error.message}${named}`, ...causes].join(": "), 240);
}

/** The messages of a cause and of its own causes. */
function messagesOf(cause: unknown, most: number): string[] {
  if (!(cause instanceof Error) || most === 0) return [];
  return [cause.message, ...messagesOf(cause.cause, most - 1)];
}
