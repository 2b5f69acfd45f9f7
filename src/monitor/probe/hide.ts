/** Hides secrets in reasons: those may quote the answer, and a server may echo the secrets of the request. */

export function hideSecrets(reason: string, secrets: readonly string[]): string {
  // Longest first: a secret that is the beginning of another would leave the rest of that.
  const longestFirst = secrets.flatMap(writings).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(hideSecret, reason);
}

/** The secret as it is, as escaped in JSON, as an address has it, and in base64, after whatever else. */
function writings(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const inAddress = encodeURIComponent(secret.toWellFormed());
  // What is around it changes the characters at its ends.
  const base64 = [0, 1, 2].map((skipped) => {
    const bytes = Buffer.from(secret).subarray(skipped);
    return bytes.subarray(0, bytes.length - (bytes.length % 3)).toString("base64");
  });
  const long = base64.filter(({ length }) => length > shortestPart);
  return [...new Set([secret, asJson, inAddress, ...long])];
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
