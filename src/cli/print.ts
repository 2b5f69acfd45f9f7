/** What a command answers goes to stdout; what it says beside that goes to stderr. */

/** Much of it was written by others, and a terminal obeys what is in it. */
export function print(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`);
}

export function complain(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

/** One document on one line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${toJsonLine(value)}\n`);
}

/** JSON escapes control characters but for those beyond ASCII, and no marks of direction. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unfit, escapeUnit);
}

/** Lines and colours stay; what else would steer a terminal, or change how the text is read, does not. */
export function forTerminal(text: string): string {
  return text.replace(unfitOrColour, (found) => (colour.test(found) ? found : " "));
}

const unfit = /[\u007f-\u009f\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Of the colours those that are used here: none that hides what is written in it. */
const colour = /\[(?:[0-2]|2[0-9]|3[1-79])m$/;

const unfitOrColour = new RegExp(
  `\\u001b\\[\\d{1,2}m|(?![\\n\\t])\\p{Cc}|${unfit.source}`,
  unfit.flags,
);

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
