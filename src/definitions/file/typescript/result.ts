/** What the child process that loads a file reports. */
import type { Path } from "#definitions/file/offsets.ts";

/** A value that is no plain data. */
export type Unfit = {
  path: Path;
  /** Such as `a function`. */
  what: string;
};

export type LoadResult =
  | {
      kind: "loaded";
      /** null: there is no default export. */
      data: unknown;
      unfit: Unfit[];
      /** The text with blanks in place of the types; absent of JavaScript. */
      code?: string;
    }
  | { kind: "failed"; message: string; line?: number; column?: number };

/** The descriptor to which the child writes it, one line of JSON. */
export const resultDescriptor = 3;
