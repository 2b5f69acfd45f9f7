/** Records the starts and stops of this process, with a digest of each setting. No value can be told from them. */
import { createHash, createHmac, randomUUID } from "node:crypto";
import type { Database } from "#kernel/database.ts";

type Start = {
  /** The roles of this process, joined by `+`. */
  part: string;
  version: string;
  settings: object;
  /** True for the path of a secret. */
  isSecret: (path: readonly string[]) => boolean;
  /** Not in the database: who has that cannot try values of secrets. Another one makes all their digests others. */
  pepper: string;
};

/** Call `stop` when the process is about to end. */
export async function recordStart(
  database: Database,
  { part, version, settings, isSecret, pepper }: Start,
): Promise<{ stop: () => Promise<void> }> {
  const id = randomUUID();
  const digests: Record<string, string> = {};
  for (const [path, value] of leavesOf(settings)) {
    const made = isSecret(path) ? createHmac("sha256", pepper) : createHash("sha256");
    const digest = made.update(JSON.stringify(value) ?? "").digest("base64url");
    digests[path.join(".")] = digest.slice(0, 16);
  }
  await database.query(insert, [id, part, version, JSON.stringify(digests)]);
  return {
    stop: async () => {
      await database.query("UPDATE process_starts SET stopped_at = now() WHERE id = $1", [id]);
    },
  };
}

/** Every setting with its path; a list is one. */
function leavesOf(value: unknown, path: readonly string[] = []): [readonly string[], unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, part]) => leavesOf(part, [...path, name]));
}

const insert = `
  WITH dropped AS (DELETE FROM process_starts WHERE started_at < now() - interval '30 days')
  INSERT INTO process_starts (id, part, version, settings) VALUES ($1, $2, $3, $4)`;
