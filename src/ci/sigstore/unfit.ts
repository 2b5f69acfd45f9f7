/** Why something attached to an image proves nothing. */
import { cleanText } from "#kernel/clean-text.ts";

/** Its message is for people, and may quote what others wrote: it is cleaned where it is shown. */
export class Unfit extends Error {}

/** What went wrong, in words. The library throws errors of every class on hostile input. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return "it cannot be read";
  const { fields } = error as { fields?: unknown };
  const named = Array.isArray(fields) ? ` (${fields.slice(0, 3).join(", ")})` : "";
  return cleanText(`${error.message}${named}${causeOf(error)}`, 160);
}

function causeOf({ cause }: Error): string {
  return cause instanceof Error ? `: ${cause.message}` : "";
}
