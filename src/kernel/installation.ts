/** The installation that a database belongs to. */
import type { Database } from "./database.ts";

/** The id that an installation's database was given when it was set up; it never changes. */
export async function readInstallation(database: Database): Promise<string> {
  const { rows } = await database.query<{ id: string }>("SELECT id FROM installation");
  const [row] = rows;
  if (row === undefined) throw new Error("the table installation has lost its only row");
  return row.id;
}
