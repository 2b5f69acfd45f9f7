/** Wires the ranking of what changed before an alert, or before a pause of a rollout. */
import { hashKey } from "#api/cache/key-record.ts";
import { createExplainPause, createReadExplained } from "#blame/explain-pause.ts";
import { createReadBlame } from "#blame/read-changes.ts";
import type { Database } from "#kernel/database.ts";
import type { Base } from "./base.ts";

export type OwnBlame = ReturnType<typeof createBlame>;

export function createBlame({ config }: Pick<Base, "config">, database: Database) {
  const { key, root_key } = config.monitor;
  const ofChecks = [key, root_key].filter((one) => one !== "").map(hashKey);
  const readBlame = createReadBlame(database, ofChecks);
  return {
    readBlame,
    explainPause: createExplainPause(database, readBlame),
    readExplained: createReadExplained(database),
  };
}
