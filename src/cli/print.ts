/** What a command answers goes to stdout; what it says beside that goes to stderr. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One document on one line. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}
