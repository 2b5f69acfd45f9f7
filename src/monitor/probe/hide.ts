/** Hides secrets in reasons: those may quote the answer, and a server may echo the secrets of the request. */

export function hideSecrets(reason: string, secrets: readonly string[]): string {
  return secrets.reduce(hideSecret, reason);
}

/** Hides the secret as it is, as escaped in JSON, and its beginning where a quotation was cut with `…`. */
function hideSecret(text: string, secret: string): string {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const hidden = text.replaceAll(asJson, "***").replaceAll(secret, "***");
  const parts = hidden.split("…");
  return parts.map((part, i) => (i + 1 < parts.length ? hideEnd(part, asJson) : part)).join("…");
}

function hideEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= shortestPart; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}***`;
  }
  return text;
}

/** The shortest beginning of a secret to hide; fewer characters disclose nothing. */
const shortestPart = 4;
