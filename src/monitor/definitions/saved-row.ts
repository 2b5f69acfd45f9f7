/**
 * The definition of a check as its object holds it: handlers decide by it, so that a replay takes the same
 * branch whatever was applied meanwhile, and a database that is away stops no check. It is read again when
 * the object is told that it may have changed.
 */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Definitions, ReadDefinitions } from "#monitor/contract.ts";

type State<Row> = { row: Row | null };

const key = "definition";

export type SavedRow<Row extends { id: string }> = ReturnType<typeof createSavedRow<Row>>;

export function createSavedRow<Row extends { id: string }>(
  rowsOf: (definitions: Definitions) => readonly Row[],
  readDefinitions: ReadDefinitions,
) {
  const readRow = (ctx: ObjectSharedContext): Promise<Row | null> =>
    ctx.run("read-definition", async () => {
      const rows = rowsOf(await readDefinitions({ isFresh: true }));
      return rows.find(({ id }) => id === ctx.key) ?? null;
    });
  const readAgain = async (ctx: ObjectContext): Promise<Row | null> => {
    const row = await readRow(ctx);
    ctx.set<State<Row>>(key, { row });
    return row;
  };
  return {
    /** null: the check is not defined. */
    read: async (ctx: ObjectContext): Promise<Row | null> =>
      (await ctx.get<State<Row>>(key))?.row ?? readAgain(ctx),
    peek: async (ctx: ObjectSharedContext): Promise<Row | null> =>
      (await ctx.get<State<Row>>(key))?.row ?? readRow(ctx),
    readAgain,
    /** Returns the row that was read last; null: it was never read, or was not defined then. */
    readLast: async (ctx: ObjectContext): Promise<Row | null> =>
      (await ctx.get<State<Row>>(key))?.row ?? null,
  };
}
