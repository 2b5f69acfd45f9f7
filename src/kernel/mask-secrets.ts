/** Masks what looks like a secret in text from outside. It knows usual forms only: what it leaves may still be one. */
import { maskPrivateKeys } from "./mask-private-keys.ts";

const mask = "***";

/** The first characters of our secrets, for people and programs: a new kind of secret takes its own from here. */
export const secretPrefixes = { rootKey: "vedette_root_", session: "vds_" } as const;

/** Prefixes of webhooks' signing secrets (Standard Webhooks), and of tokens of GitHub, GitLab and Slack. */
const foreignPrefixes = "whsec_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|xapp-";
const prefixes = `${Object.values(secretPrefixes).join("|")}|${foreignPrefixes}`;

/** Parts of the names of settings, variables, JSON members, flags and parameters whose value is a secret. */
const names = [
  "passw(?:or)?d|passphrase|secret|token|credential|(?:webhook|heartbeat)[_-]?url",
  "(?:api|access|private|signing|root|encryption|identity|routing|integration|service)[_-]?key",
].join("|");

/** The name is that of an error, or of a file of code before its line: what follows is no value. */
const noSecret = String.raw`(?![\w.-]{0,40}(?:Error|Exception|\.(?:[cm]?[jt]s|java|py|go|rb|rs)):)`;

/** Matches a slash in an address, which may itself be in JSON or in another address. */
const slash = String.raw`(?:\\{0,4}\/|%2F)`;

/** Matches where a word starts: also behind an escape of JSON, an address or a terminal, which may end with a letter. */
const start = String.raw`(?:(?<![\w-])|(?<=\\[bfnrtv]|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|%(?:25){0,2}[\da-fA-F]{2}|\[[\d;]{0,20}m))`;

/** A quote, also within JSON or an address; and what stands between a name and its value. */
const quote = String.raw`(?:\\{0,4}["']|%22)?`;
const is = String.raw`${quote}\s{0,3}(?:[:=]>?|%3[AD])(?:\s|%20){0,3}`;
/** Matches what languages print around values of a type: `Some("x")`, `b'x'`. */
const typed = String.raw`(?:[A-Za-z.:]{0,40}\((?=["'])|[bfru](?=["']))?`;

/** Addresses that let anybody write to a chat or an incident service; and paths of them, without their host. */
const webhooks = [
  String.raw`\bhooks\.[\w.-]{1,60}|[\w-]{1,60}\.webhook\.office\.com|\bhc-ping\.com`,
  String.raw`discord(?:app)?\.com${slash}api${slash}(?:v\d+${slash})?webhooks`,
  String.raw`chat\.googleapis\.com${slash}v1${slash}spaces`,
  // Addresses of a self-hosted server such as Mattermost; no file of a program, such as `/app/hooks/a.js:1`.
  String.raw`(?::\\{0,4}\/\\{0,4}\/[^\s\/"'<>]{1,253}|(?:^|[\s"'])(?![^\s"'<>]{0,300}\.[a-z]{1,4}(?::\d+){0,2}(?![\w\/.-])))(?:${slash}[\w.-]{1,60}){0,3}${slash}(?:hooks|webhooks?|webhookb2|services${slash}T\w{4,20})`,
].join("|");

/** All but the first group is masked. Each is linear in the length of the text: it may be written by somebody hostile. */
const patterns: readonly RegExp[] = [
  // The user and password of an address, or a token in their place; but for the web, a password may have slashes.
  new RegExp(
    String.raw`\b([a-z][a-z\d+.-]{0,30}(?::|%3A)${slash}${slash})[^\s/"'<>]{1,500}(?=@|%40)`,
    "gi",
  ),
  /\b((?!https?:)[a-z][a-z\d+.-]{0,30}:\/\/)[^\s/:@"'<>]{0,100}:[^\s"'<>?]{1,500}(?=@(?!sha\d))/gi,
  new RegExp(String.raw`((?:${webhooks})${slash})[^\s"'<>]{1,2000}`, "gi"),
  new RegExp(String.raw`(api\.telegram\.org${slash}(?:file${slash})?bot)[^\s/"'<>]{1,200}`, "gi"),
  /([?&#](?:key|sig|signature|ticket|x-amz-signature)=)[^\s&"'<>]{1,2000}/gi,
  // `Authorization: Bearer x`, `"authorization":"x"`: a scheme, and what follows it.
  new RegExp(
    String.raw`(authorization${is}\[?${quote})[^\s"',;]{1,4000}(?: {1,3}[^\s"',;]{1,4000})?`,
    "gi",
  ),
  new RegExp(String.raw`(cookie${is}\[?${quote})[^\r\n"']{1,4000}`, "gi"),
  /(bearer(?:\s|%20){1,3})[\w.~+/=-]{8,4000}/gi,
  // Base64 has capitals or digits within, unlike a word.
  /\b([Bb]asic\s{1,3})(?=[a-zA-Z\d+/]{1,200}[A-Z\d])[A-Za-z\d+/]{8,4000}={0,2}/g,
  // Ours of the environment, to the end of the word, also with commas; a check may call its secret anything.
  /\b(VEDETTE_(?:SECRET_[A-Z\d_]{1,100}|[A-Z\d_]{0,100}(?:KEYS?|URL))\s{0,3}[:=]>?\s{0,3})(?!\s)["']?[^\s"']{1,4000}/g,
  // `DB_PASSWORD=x`, `"apiKey": "x"`, the same in JSON within JSON, `--token x`, and of a list of names and values.
  new RegExp(
    String.raw`((?:${names})${noSecret}[\w.-]{0,40}(?:${quote},?\s{0,20}${quote}value)?(?:${is}|>(?=[^\s<]))${typed})(?:\[[^\]\r\n]{0,4000}\]?|\\{1,4}"[^"\r\n]{0,4000}"?|"(?:[^"\\\r\n]|\\.){0,4000}"?|'[^'\r\n]{0,4000}'?|[|>][+-]?\n[^\n]{0,4000}|[^\s,;&"'}\])<]{1,4000})`,
    "gi",
  ),
  /(--?(?:passw(?:or)?d|secret|token|api-key)\s{1,3})[^\s-][^\s]{0,4000}/gi,
  // JSON web tokens, and AWS' keys.
  new RegExp(String.raw`${start}eyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{0,4000})?`, "g"),
  /\bA(?:KIA|SIA)[A-Z\d]{16}\b/g,
  new RegExp(String.raw`(?:(?<![A-Za-z\d])|${start})(?:${prefixes})[\w+/=-]{10,4000}`, "g"),
  // Keys of our API with a prefix, 16 random bytes in base58 unless more are asked for.
  new RegExp(
    String.raw`${start}(?=\w{0,60}[a-z])(?=\w{0,60}[A-Z])([A-Za-z]\w{0,30}_)(?=[A-Za-z]{0,21}(?:\d|[A-Z]{2}))[1-9A-HJ-NP-Za-km-z]{21,22}(?![\w-])`,
    "g",
  ),
  // Our tokens, 32 random bytes in base64url: letters of both cases, and what no word has. Our keys, in base64.
  new RegExp(
    String.raw`${start}(?=[\w-]{0,42}[a-z])(?=[\w-]{0,42}[A-Z])(?=[\w-]{0,42}(?:[\d_-]|[A-Z]{2}))[\w-]{43}(?![\w-])`,
    "g",
  ),
  new RegExp(String.raw`${start}(?<![+/]|h1:)[A-Za-z\d+/]{43}(?:=|%3D)(?![\w=])`, "g"),
];

export function maskSecrets(text: string): string {
  return patterns.reduce(
    // Without a group the second argument is a place in the text.
    (masked, pattern) =>
      masked.replace(pattern, (_, before) => (typeof before === "string" ? before + mask : mask)),
    maskPrivateKeys(text),
  );
}
