/** Prints a command's result to stdout, and remarks about it to stderr. */
import { escapeJson, forTerminal } from "#kernel/text.ts";

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
  process.stdout.write(`${escapeJson(JSON.stringify(value))}\n`);
}

/** JSON for programs, else what `report` makes of it. Returns exit code 0. */
export function printAnswer<T>(answer: T, isJson: boolean, report: (answer: T) => string): number {
  if (isJson) printJson(answer);
  else print(report(answer));
  return 0;
}
