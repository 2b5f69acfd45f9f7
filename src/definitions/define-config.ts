/** What a `vedette.config.ts` imports: `vedette/config`. It imports types alone, so that it loads at once. */
import type { z } from "zod";
import type { sections } from "./rows/contract.ts";

type RowsOf<Section extends keyof typeof sections> = z.input<(typeof sections)[Section]["row"]>;

/** A row, as a list or by id; by id, `null` removes the row that `extends` or an included file has. */
type Rows<Row> = readonly Row[] | Readonly<Record<string, Omit<Row, "id" | "name"> | Row | null>>;

/** The definitions of a file (docs/definitions.md). */
export type VedetteConfig = {
  /** Rows to begin with: those that Vedette brings. */
  extends?: readonly (typeof standard)[];
  /** Further files, as globs relative to this one. */
  include?: readonly string[];
} & { [Section in keyof typeof sections]?: Rows<RowsOf<Section>> };

/** Vedette's own rows: checks of the API that it serves, heartbeats of its jobs, their channels and routes. */
export const standard = "standard";

/** Returns what it is given; an editor completes and checks it. */
export function defineConfig(config: VedetteConfig): VedetteConfig {
  return config;
}
