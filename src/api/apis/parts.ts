/** The parts that the procedures of the namespace `apis` are given. */
import type { NamespaceParts } from "#api/parts.ts";

export type ApisParts = Pick<NamespaceParts, "database" | "change" | "keyRing">;
