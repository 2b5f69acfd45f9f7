/** Writes the log, and masks the secrets in it and in every text from elsewhere. */
import { type Logger, type LoggerOptions, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import { isOutage } from "./problem.ts";
import { cleanText, escapeJson, forTerminal } from "./text.ts";
import { traceFields } from "./tracing.ts";

/** PEM (RFC 7468), OpenSSH and PGP (RFC 9580) write it so. */
const edge = /-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** More lines than any key has: these are two parts of different ones. */
const mostLines = 200;

/** No word of a sentence is so long. A backslash: of a line end within JSON. */
const longRun = /[A-Za-z\d+/=\\]{24,}/g;
const run = /^[A-Za-z\d+/=\\]+$/;

/** Masks private keys over several lines, also where a log has a part of one only, or its own words before each line. */
export function maskPrivateKeys(text: string): string {
  const edges = [...text.matchAll(edge)];
  if (edges.length === 0) return text;
  const parts: string[] = [];
  let before: RegExpExecArray | undefined;
  for (const after of [...edges, undefined]) {
    const from = before === undefined ? 0 : before.index + before[0].length;
    const between = text.slice(from, after?.index);
    parts.push(maskBetween(between, before?.[1] === "BEGIN", after?.[1] === "END"));
    if (after !== undefined) parts.push(after[0]);
    before = after;
  }
  return parts.join("");
}

function maskBetween(text: string, hasBegin: boolean, hasEnd: boolean): string {
  if (!hasBegin && !hasEnd) return text;
  const lines = text.split("\n");
  if (hasBegin && hasEnd && lines.length <= mostLines) return mask;
  const forward = hasBegin ? maskBody(lines) : lines;
  return (hasEnd ? maskBody(forward.toReversed()).toReversed() : forward).join("\n");
}

/** Masks lines that start beside an edge, in either direction: the last one of a key is shorter than the others. */
function maskBody(lines: readonly string[]): string[] {
  let isInside = true;
  return lines.map((line, at) => {
    const masked = line.replace(longRun, mask);
    if (masked !== line) isInside = true;
    // The rest of an edge's own line may be what the log has before each line.
    if (masked !== line || at === 0 || !isInside || line.trim() === "") return masked;
    const { first, last } = splitLastWord(line.trimEnd());
    const isBody = run.test(last);
    isInside = isBody && first.trim() === "";
    return isBody ? `${first}${mask}` : line;
  });
}

function splitLastWord(line: string): { first: string; last: string } {
  const at = Math.max(line.lastIndexOf(" "), line.lastIndexOf("\t")) + 1;
  return { first: line.slice(0, at), last: line.slice(at) };
}

// Masks what looks like a secret in text from outside. It knows usual forms only: what it leaves may still be one.

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

// The end of a log of a program that is not ours, made safe to store and to show.

/** Limit of all lines together. */
const maxBytes = 16_384;
const maxLine = 1_000;

/** Limit of a raw log: escape sequences take room, too. */
export const maxRawLog = 65_536;

/** The last `lines` lines, 16 KiB at most, with secrets masked, and no escapes, control characters or empty end. */
export function cleanLog(raw: string, { lines }: { lines: number }): string {
  if (lines < 1) return "";
  const text = stripEscapes(endOf(raw).toWellFormed());
  const cleaned = maskSecrets(text).trimEnd().split("\n").slice(-lines).map(cleanLine);
  return lastWithin(cleaned, maxBytes).join("\n");
}

/** One line of words that are not ours, such as a reason: at most `maxLength` characters, with secrets masked. */
export function cleanWords(words: string, maxLength: number): string {
  // Masked before the cut: a part of a secret would not be recognized.
  return cleanText(maskSecrets(stripEscapes(words.slice(0, maxRawLog))), maxLength);
}

/** Drops the line that the cut has gone through, unless it is the only one. */
function endOf(raw: string): string {
  if (raw.length <= maxRawLog) return raw;
  const end = raw.slice(-maxRawLog);
  const newline = end.trimEnd().indexOf("\n");
  return newline === -1 ? end : end.slice(newline + 1);
}

/** The text that a terminal would show of a line that was overwritten: a bar of progress is not a hundred lines. */
function cleanLine(line: string): string {
  const written = line.trimEnd();
  const shown = written.slice(written.lastIndexOf("\r") + 1);
  const clean = cleanText(shown, maxLine).trimEnd();
  return shown.length > maxLine ? `${clean}…` : clean;
}

function lastWithin(lines: readonly string[], bytes: number): string[] {
  let left = bytes + 1;
  const first = lines.findLastIndex((line) => {
    left -= Buffer.byteLength(line) + 1;
    return left < 0;
  });
  return lines.slice(first + 1);
}

const esc = "\u001b";

/** Titles, links and other strings with their ends. None reaches into the next one, so that no text is read twice. */
const strings = `(?:${esc}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\n${esc}\u0090\u0098\u009c-\u009f]*(?:\u0007|\u009c|${esc}\\\\)`;

/** Colours and movements of the cursor; what is left of one that was cut, too. */
const controls = `(?:${esc}\\[|\u009b)[0-?]*[ -/]*[@-~]?`;

/** Character sets, modes of keys, saved positions, a reset: no letter that the name of a secret begins with. */
const others = `${esc}(?:[ #%(-/][0-~]|[0-9<=>DEHMNOZ\\\\]|c(?![a-z]))`;

const sequences = new RegExp(`${strings}|${controls}|${others}`, "g");

/** Removes terminals' escapes (ECMA-48). Node's function takes quadratic time for a text that is made for it. */
export function stripEscapes(text: string): string {
  return text.replace(sequences, "");
}

export type Log = Logger;

export type LogSettings = { level: string; format: "auto" | "json" | "pretty" };

/** Fields that must never be printed, wherever a log line carries them. */
const secretPaths = ["authorization", "token", "key", "secret", "password"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** Fields with words that may quote what others have answered or were sent. */
const wordFields = ["detail", "reason", "cause", "fault", "line", "last_words"];

/** One JSON object per line on stdout; on a terminal the same lines in a readable form. */
export function createLog(settings: LogSettings): Log {
  const options = {
    ...{ level: settings.level, base: null, redact: secretPaths, hooks: limitOutages() },
    mixin: () => traceFields(),
    formatters: { log: (fields: object) => maskIn(fields, wordFields) },
    serializers: {
      err: (error: unknown) =>
        error instanceof Error ? describeError(error) : maskSecrets(String(error)),
    },
  };
  const isPretty =
    settings.format === "pretty" || (settings.format === "auto" && process.stdout.isTTY === true);
  const format = isPretty ? pretty.prettyFactory({ translateTime: "HH:MM:ss" }) : escapeJson;
  const output = pino.destination({ fd: 1, sync: true });
  const write = (line: string) => output.write(isPretty ? forTerminal(format(line)) : format(line));
  return pino(options, { write });
}

const ofRequest = new Set(["err", "requestId", "path", "step"]);

/** Leaves out lines that say of a request what one of the last ten seconds said: that the same server is away. */
function limitOutages(): NonNullable<LoggerOptions["hooks"]> {
  const loggedAtMs = new Map<string, number>();
  return {
    logMethod(line, method) {
      const [fields, message] = line as unknown as [{ err?: unknown; step?: unknown }?, string?];
      if (isOutage(fields?.err) && Object.keys(fields).every((name) => ofRequest.has(name))) {
        const kind = [message, fields.step, fields.err.code].join();
        if (performance.now() - (loggedAtMs.get(kind) ?? -1e9) < 10_000) return;
        loggedAtMs.set(kind, performance.now());
      }
      method.apply(this, line);
    },
  };
}

/** Other members may have anything: of Postgres' errors the values of a row. */
function describeError(error: Error): Record<string, unknown> {
  const { type, message, stack, code, aggregateErrors } = stdSerializers.err(error);
  const causes = aggregateErrors?.map((one: Error) => one.message).join("; ");
  const words = { type, message, stack: isOutage(error) ? undefined : stack, code, causes };
  return maskIn(words, Object.keys(words));
}

function maskIn(fields: object, names: readonly string[]): Record<string, unknown> {
  const masked: Record<string, unknown> = { ...fields };
  for (const name of names) {
    const words = masked[name];
    // Words of an SDK may repeat each fault of a body: masking some MB takes a minute.
    if (typeof words === "string") masked[name] = maskSecrets(words.slice(0, maxRawLog));
  }
  return masked;
}
