/** Escapes Slack's three special characters, and replaces lone surrogates, which Slack rejects. */
export function escapeText(given: string): string {
  const text = given.toWellFormed();
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Shortens without cutting an escape or a surrogate pair in two. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/(?:&[a-z]{0,3}|[\uD800-\uDBFF])$/, "")}…`;
}
