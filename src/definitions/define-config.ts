/** The module `vedette/config` that a `vedette.config.ts` imports. It imports types alone, so that it loads at once. */
import type { z } from "zod";
import type { sections } from "./rows/contract.ts";

type RowOf<Section extends keyof typeof sections> = WithAddress<
  z.input<(typeof sections)[Section]["row"]>
>;

/** A request has an address, and not two; that of each step, too. */
type WithAddress<Row> = Row extends { steps: readonly (infer Step)[] }
  ? Omit<Row, "steps"> & { steps: readonly WithAddress<Step>[] }
  : Row extends { assertions?: unknown }
    ? Omit<Row, "url" | "path"> & (Url | Path)
    : Row;
type Url = { url: string; path?: never };
type Path = { path: string; url?: never };

/** Distributes over the kinds: `Omit` of their union would keep only the fields that all of them have. */
type WithoutKey<Row> = Row extends unknown ? Omit<Row, "id" | "name"> : never;

/** A row, as a list or by id; by id, `null` removes the row that `extends` or an included file has. */
type Rows<Row> = readonly Row[] | Readonly<Record<string, WithoutKey<Row> | Row | null>>;

/** The definitions of a file (docs/definitions.md). */
export type VedetteConfig = {
  /** Rows to begin with: those that Vedette brings. */
  extends?: readonly (typeof standard)[];
  /** Further files, as globs relative to this one. */
  include?: readonly string[];
} & { [Section in keyof typeof sections]?: Rows<RowOf<Section>> };

/** Vedette's own rows: checks of the API that it serves, heartbeats of its jobs, their channels and routes. */
export const standard = "standard";

/** Returns what it is given; an editor completes and checks it. */
export function defineConfig(config: VedetteConfig): VedetteConfig {
  return config;
}
