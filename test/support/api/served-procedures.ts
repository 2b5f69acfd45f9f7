/** The procedures that the program serves, as the router has them. */
import { createNamespaces } from "#api/api.ts";
import type { NamespaceParts } from "#api/parts.ts";
import type { Procedure } from "#api/procedure.ts";
import { neverAsked } from "../never-asked.ts";

/** For example `keys.createKey`. */
export const servedProcedures: (readonly [name: string, procedure: Procedure])[] = Object.entries(
  createNamespaces(neverAsked<NamespaceParts>()),
).flatMap(([namespace, procedures]) =>
  Object.entries(procedures).map(
    ([name, procedure]) => [`${namespace}.${name}`, procedure] as const,
  ),
);
