/** The procedures that the program serves, as the router has them. */
import { createNamespaces, type NamespaceParts } from "#api/api.ts";
import type { Procedure } from "#api/procedure.ts";
import { neverAsked } from "./never-asked.ts";

/** For example `keys.createKey`. */
export const servedProcedures: (readonly [name: string, procedure: Procedure])[] = Object.entries(
  createNamespaces(neverAsked<NamespaceParts>()),
).flatMap(([namespace, procedures]) =>
  Object.entries(procedures).map(
    ([name, procedure]) => [`${namespace}.${name}`, procedure] as const,
  ),
);
