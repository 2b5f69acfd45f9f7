/** The handlers by which operators list, add and remove rows: windows and pins. */
import type { Context } from "@restatedev/restate-sdk";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import type { Listed, RowStore } from "./store.ts";

type Parts<Row> = {
  store: RowStore<Row>;
  readActor: ReadActor;
  /** As a log and an error call it: "window". */
  word: string;
};

export function createRowHandlers<Row extends { id: string }>({
  store,
  readActor,
  word,
}: Parts<Row>) {
  const problem = `the ${word}s cannot be read or changed`;
  const listing = databaseRead("list", { limitMs: 5_000, problem });
  /** Longer than a statement can take: a change must not take effect after its caller got an error. */
  const changes = { limitMs: 330_000, problem };
  const adding = databaseRead("add", changes);
  const removal = databaseRead("remove", changes);

  return {
    list: (ctx: Context): Promise<Listed<Row>[]> => readNow(ctx, listing, store.list),

    async add(ctx: Context, row: Row): Promise<Listed<Row>> {
      const by = nameOf(readActor(ctx));
      const added = await readNow(ctx, adding, () => store.add(row, by));
      ctx.console.info(`rollout ${word} added`, { [word]: row.id, by });
      return added;
    },

    /** null: there is none with this id. `by`: who removes it. */
    async remove(
      ctx: Context,
      { id, reason }: { id: string; reason: string },
    ): Promise<{ found: Listed<Row> | null; by: string }> {
      const by = nameOf(readActor(ctx));
      // A step of its own: after a kill the row may be gone already.
      const found = await readNow(ctx, listing, () => store.find(id));
      if (found === null) return { found, by };
      await readNow(ctx, removal, () => store.remove(found));
      ctx.console.info(`rollout ${word} removed`, { [word]: id, by, reason });
      return { found, by };
    },
  };
}
