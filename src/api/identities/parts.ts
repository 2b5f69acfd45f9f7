/** The parts that the procedures of the namespace `identities` are given. */
import type { MakeChange } from "#api/changes/change.ts";
import type { Database } from "#kernel/database.ts";

export type IdentitiesParts = { database: Database; change: MakeChange };
