/** What a format has to say of a text. */
import type { Fault, Place } from "#definitions/file/fault.ts";
import type { Offsets } from "#definitions/file/offsets.ts";

export type Parsed = {
  data: unknown;
  offsets: Offsets;
  /** Only when it differs from the text: the same length, without types. */
  code?: string;
};

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
