/** Text that others wrote, made fit to be stored and shown. */

/** What cannot be seen, or changes how the text around it is read; and what Postgres refuses. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** At most `maxLength` characters, without control characters, marks of direction and halves of characters. */
export function cleanText(text: string, maxLength: number): string {
  // Cut first: a text of megabytes is not to be read whole. What the cut halves becomes a whole character.
  return text.slice(0, maxLength).toWellFormed().replace(unfit, " ");
}

/** Whether a text may be kept as it is: for ids, which mean something else once they are changed. */
export function isClean(text: string, maxLength: number): boolean {
  return text.length <= maxLength && cleanText(text, maxLength) === text;
}
