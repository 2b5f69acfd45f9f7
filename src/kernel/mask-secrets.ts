/** Masks what looks like a secret in text from outside. It knows usual forms only: what it leaves may still be one. */

import { maskPrivateKeys } from "./mask-private-keys.ts";

const mask = "***";

/** Every pattern is linear in the length of the text: it may be written by somebody hostile. */
const patterns: readonly { pattern: RegExp; replacement: string }[] = [
  // The user and password of an address, or a token in their place.
  { pattern: /\b([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/@"'<>]{1,500}@/gi, replacement: `$1${mask}@` },
  // `Authorization: Bearer x`, `"authorization":"x"`: a scheme, and what follows it.
  {
    pattern:
      /\b(authorization(?:\\{0,4}["'])?\s{0,3}[:=]\s{0,3}(?:\\{0,4}["'])?)[^\s"',;]{1,4000}(?: {1,3}[^\s"',;]{1,4000})?/gi,
    replacement: `$1${mask}`,
  },
  {
    pattern: /\b(cookie(?:\\{0,4}["'])?\s{0,3}[:=]\s{0,3}(?:\\{0,4}["'])?)[^\r\n"']{1,4000}/gi,
    replacement: `$1${mask}`,
  },
  { pattern: /\b(bearer\s{1,3})[\w.~+/=-]{8,4000}/gi, replacement: `$1${mask}` },
  // `DB_PASSWORD=x`, `"apiKey": "x"`, the same in JSON within JSON, `--token x`.
  {
    pattern:
      /((?:passw(?:or)?d|passphrase|secret|token|credential|(?:api|access|private|signing|root)[_-]?key)[\w.-]{0,40}(?:\\{0,4}["'])?\s{0,3}[:=]\s{0,3})(?:\\{1,4}"[^"\r\n]{0,4000}"?|"(?:[^"\\\r\n]|\\.){0,4000}"?|'[^'\r\n]{0,4000}'?|[^\s,;&"'}\])]{1,4000})/gi,
    replacement: `$1${mask}`,
  },
  {
    pattern: /(--?(?:passw(?:or)?d|secret|token|api-key)\s{1,3})[^\s-][^\s]{0,4000}/gi,
    replacement: `$1${mask}`,
  },
  // Tokens that tell by themselves what they are: JSON web tokens, GitHub's, GitLab's, Slack's, AWS'.
  { pattern: /(?<![\w-])eyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{0,4000})?/g, replacement: mask },
  { pattern: /\b(?:gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-)[\w-]{10,400}/g, replacement: mask },
  { pattern: /\bA(?:KIA|SIA)[A-Z\d]{16}\b/g, replacement: mask },
];

export function maskSecrets(text: string): string {
  return patterns.reduce(
    (masked, { pattern, replacement }) => masked.replace(pattern, replacement),
    maskPrivateKeys(text),
  );
}
