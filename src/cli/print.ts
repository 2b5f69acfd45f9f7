/** Prints a command's result to stdout, and remarks about it to stderr. */

/** Removes control characters: much of the text was written by others, and a terminal would execute them. */
export function print(text: string): void {
  process.stdout.write(`${forTerminal(text)}\n`);
}

export function complain(text: string): void {
  process.stderr.write(`${forTerminal(text)}\n`);
}

/** The refusal of options that no parser of one option refuses. */
export const usageError = (message: string) => Object.assign(new Error(message), { code: "usage" });

/** Prints one document on one line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${toJsonLine(value)}\n`);
}

/** JSON for programs, else what `report` makes of it. Returns exit code 0. */
export function printAnswer<T>(answer: T, isJson: boolean, report: (answer: T) => string): number {
  if (isJson) printJson(answer);
  else print(report(answer));
  return 0;
}

/** Escapes what `JSON.stringify` leaves: control characters beyond ASCII, and marks of text direction. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value).replace(unfit, escapeUnit);
}

/** Keeps line breaks and colours; removes everything else that controls a terminal or changes text direction. */
export function forTerminal(text: string): string {
  return text.replace(unfitOrColour, (found) => (colour.test(found) ? found : " "));
}

const unfit = /[\u007f-\u009f\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Matches the colours that are used here: none that could hide text. */
const colour = /\[(?:[0-2]|2[0-9]|3[1-79])m$/;

const unfitOrColour = new RegExp(
  `\\u001b\\[\\d{1,2}m|(?![\\n\\t])\\p{Cc}|${unfit.source}`,
  unfit.flags,
);

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
