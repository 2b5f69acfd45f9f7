/** The handlers by which operators list, add and remove rows: windows, pins and promotions. */
import type { Context } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import type { Listed, RowStore } from "./store.ts";

/** The callers' access to rows: a row is of one fleet, or of all of them. */
export type RowAccess = { readActor: ReadActor; fleets: FleetAccess };

type FleetAccess = {
  names: readonly string[];
  /** Throws a `ProblemError` for a fleet that there is not. */
  require: (name: string) => unknown;
  /** Throws a `ProblemError` for a caller who may not change this fleet's rollouts. */
  requireOperator: (actor: Actor, name: string) => void;
};

type FleetRow = { id: string; fleet?: string | undefined };

type Parts<Row> = {
  store: RowStore<Row>;
  access: RowAccess;
  /** The name in logs and errors: "window". */
  word: string;
  /** Throws a `ProblemError` for a row that cannot be; absent: what the schema allows can be. */
  check?: (row: Row) => void;
};

/** True if a row holds for this fleet; undefined: for any of them. */
export function holdsFor(row: Pick<FleetRow, "fleet">, fleet: string | undefined): boolean {
  return fleet === undefined || row.fleet === undefined || row.fleet === fleet;
}

export function createRowHandlers<Row extends FleetRow>({
  store,
  access,
  word,
  check,
}: Parts<Row>) {
  const problem = `the ${word}s cannot be read or changed`;
  const listing = databaseRead("list", { limitMs: 5_000, problem });
  /** Longer than a statement can take: a change must not take effect after its caller got an error. */
  const changes = { limitMs: 330_000, problem };
  const adding = databaseRead("add", changes);
  const removal = databaseRead("remove", changes);
  const { fleets, readActor } = access;
  // Within the journaled steps: the settings may be others when a handler is tried again.
  const requireAccess = (actor: Actor, { fleet }: Pick<FleetRow, "fleet">) => {
    for (const name of fleet === undefined ? fleets.names : [fleet]) {
      fleets.requireOperator(actor, name);
    }
  };

  return {
    list: (ctx: Context, { fleet }: { fleet?: string | undefined }): Promise<Listed<Row>[]> =>
      readNow(ctx, listing, async () => {
        if (fleet !== undefined) fleets.require(fleet);
        return (await store.list()).filter((row) => holdsFor(row, fleet));
      }),

    async add(ctx: Context, row: Row): Promise<Listed<Row>> {
      const actor = readActor(ctx);
      const by = nameOf(actor);
      const added = await readNow(ctx, adding, async () => {
        if (row.fleet !== undefined) fleets.require(row.fleet);
        requireAccess(actor, row);
        check?.(row);
        return store.add(row, by);
      });
      ctx.console.info(`rollout ${word} added`, { [word]: row.id, by });
      return added;
    },

    /** null: there is none with this id. `by`: who removes it. */
    async remove(
      ctx: Context,
      { id, reason }: { id: string; reason: string },
    ): Promise<{ found: Listed<Row> | null; by: string }> {
      const actor = readActor(ctx);
      const by = nameOf(actor);
      // A step of its own: after a kill the row may be gone already.
      const found = await readNow(ctx, listing, async () => {
        const row = await store.find(id);
        if (row !== null) requireAccess(actor, row);
        return row;
      });
      if (found === null) return { found, by };
      await readNow(ctx, removal, () => store.remove(found));
      ctx.console.info(`rollout ${word} removed`, { [word]: id, by, reason });
      return { found, by };
    },
  };
}
