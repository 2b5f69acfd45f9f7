/** Hides secrets in reasons: those may quote the answer, and a server may echo the secrets of the request. */
import { escapeText } from "#kernel/slack-text.ts";

export function hideSecrets(reason: string, secrets: readonly string[]): string {
  // Longest first: a secret that is the beginning of another would leave the rest of that.
  const longestFirst = secrets.flatMap(writings).sort((a, b) => b.length - a.length);
  return longestFirst.reduce(hideSecret, reason);
}

/**
 * The secret as it is, as escaped in JSON and in pages, as an address and a form have it, in base16, and in base64, after
 * whatever else.
 */
function writings(secret: string): string[] {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const inAddress = encodeURIComponent(secret.toWellFormed());
  const lower = inAddress.replace(/%../g, (code) => code.toLowerCase());
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inPage = escapeText(secret).replaceAll('"', "&quot;");
  const base16 = Buffer.from(secret).toString("hex");
  const others = [asJson.replaceAll("/", "\\/"), lower, inForm, inPage, base16];
  // The text around a secret changes the characters at its ends.
  const base64 = [0, 1, 2].map((skipped) => {
    const bytes = Buffer.from(secret).subarray(skipped);
    return bytes.subarray(0, bytes.length - (bytes.length % 3)).toString("base64");
  });
  const long = base64.filter(({ length }) => length > shortestPart);
  return [...new Set([secret, asJson, inAddress, ...others, ...long])];
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
