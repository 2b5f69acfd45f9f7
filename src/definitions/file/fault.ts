import { cleanText } from "#kernel/text.ts";

export type Place = {
  /** From 1. */
  line: number;
  /** From 1; absent: only the line is known. */
  column?: number;
};

export type Fault = {
  /** The name of the file for people. */
  file: string;
  /** Absent: the row is made by code, or the file cannot be read. */
  place?: Place | undefined;
  /** Such as `checks.shop.frequencySeconds`; empty: the file as a whole. */
  where: string;
  /** The allowed values. Never the given one, which may be secret. */
  message: string;
};

/** All mistakes of the files; the message has one line for each, in the order of the files. */
export class DefinitionsError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    const sorted = faults.toSorted(byPlace);
    super(sorted.map(lineOf).join("\n"));
    this.faults = sorted;
  }
}

/** A text that is not well-formed, or a file that cannot be read. */
export class Malformed extends Error {
  readonly faults: readonly Omit<Fault, "file">[];

  constructor(
    problem: string | readonly Omit<Fault, "file">[],
    place?: Place,
    options?: ErrorOptions,
  ) {
    const faults = typeof problem === "string" ? [{ place, where: "", message: problem }] : problem;
    super(faults.map(({ message }) => message).join("\n"), options);
    this.faults = faults;
  }
}

/** `vedette.config.ts:12:7: checks.shop.frequencySeconds: has to be at least 10` */
export function lineOf({ file, place, where, message }: Fault): string {
  const parts = [placeName(file, place), where, message].filter((part) => part !== "");
  return cleanText(parts.join(": "), 4_000);
}

/** `vedette.config.ts:12:7`, as editors and terminals open it. */
export function placeName(file: string, place: Place | undefined): string {
  return [file, place?.line, place?.column].filter((part) => part !== undefined).join(":");
}

function byPlace(a: Fault, b: Fault): number {
  const difference = (of: (fault: Fault) => number) => of(a) - of(b);
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (
    difference(({ place }) => place?.line ?? 0) ||
    difference(({ place }) => place?.column ?? 0) ||
    (a.where < b.where ? -1 : 1)
  );
}
