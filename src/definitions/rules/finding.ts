/** A fault of a row. */
import type { Section } from "#definitions/rows/contract.ts";

export type Finding = {
  section: Section;
  /** The id or name of the row. */
  key: string;
  /** The way to the field, from the row. */
  field?: (string | number)[];
  /** The allowed values; no value of a header or body, which may be secret. */
  message: string;
};
