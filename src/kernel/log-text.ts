/** The end of a log of a program that is not ours, made safe to store and to show. */
import { cleanText } from "./clean-text.ts";
import { maskSecrets } from "./mask-secrets.ts";

/** Limit of all lines together. */
const maxBytes = 16_384;
const maxLine = 1_000;

/** Limit of a raw log: escape sequences take room, too. */
export const maxRawLog = 65_536;

/**
 * Returns at most the last `lines` lines, and 16 KiB, with secrets masked: without escape sequences, control
 * characters and empty lines at the end. Between each two is a newline.
 */
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

/**
 * Removes the escape sequences of terminals (ECMA-48). Node's own function takes time by the square of the length for a
 * text that is made for it, and a log may be written by somebody hostile.
 */
export function stripEscapes(text: string): string {
  return text.replace(sequences, "");
}
