/** Hides secrets in reasons: those may quote the answer, and a server may echo the secrets of the request. */

export function hideSecrets(reason: string, secrets: readonly string[]): string {
  // Longest first: a secret that is the beginning of another would leave the rest of that.
  const longestFirst = secrets.flatMap(writings).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(hideSecret, reason);
}

/** The secret as it is, as escaped in JSON, and as an address has it. */
function writings(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const inAddress = encodeURIComponent(secret.toWellFormed());
  return [...new Set([secret, asJson, inAddress])];
}

/** Hides the secret, and its beginning where a quotation was cut with `…`. */
function hideSecret(text: string, secret: string): string {
  const parts = text.replaceAll(secret, "***").split("…");
  return parts.map((part, i) => (i + 1 < parts.length ? hideEnd(part, secret) : part)).join("…");
}

function hideEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= shortestPart; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}***`;
  }
  return text;
}

/** The shortest beginning of a secret to hide; fewer characters disclose nothing. */
const shortestPart = 4;
