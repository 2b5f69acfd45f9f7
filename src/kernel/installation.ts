/** Whose database this is. */
import type { Database } from "./database.ts";

/** The id that an installation's database was given when it was set up; it never changes. */
export async function readInstallation(database: Database): Promise<string> {
  const { rows } = await database.query<{ id: string }>("SELECT id FROM installation");
  const [row] = rows;
  if (row === undefined) throw new Error("the database has lost its table installation's one row");
  return row.id;
}
