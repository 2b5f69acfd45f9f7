/** Makes text from outside safe to store and to show. */

/** Characters that are invisible, or change how the text around them is displayed, or that Postgres refuses. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Cuts to `maxLength` characters, and removes control characters, direction marks and lone surrogates. */
export function cleanText(text: string, maxLength: number): string {
  // Cut first, so that a text of megabytes isn't scanned whole. The cut may split a surrogate pair.
  return text.slice(0, maxLength).toWellFormed().replace(unfit, " ");
}

/** True if `cleanText` would leave a text unchanged: for ids, which must not be changed. */
export function isClean(text: string, maxLength: number): boolean {
  return text.length <= maxLength && cleanText(text, maxLength) === text;
}
