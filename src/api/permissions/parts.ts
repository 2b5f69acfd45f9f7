/** The parts that the procedures of the namespace `permissions` are given. */
import type { MakeChange } from "#api/changes/change.ts";
import type { Database } from "#kernel/database.ts";

export type PermissionsParts = { database: Database; change: MakeChange };
