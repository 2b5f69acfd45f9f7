/** The Restate services by which operators list, add and remove rows: windows, pins and promotions. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow, readPatiently } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { type PinStore, rolloutPins } from "#rollout/choice/store.ts";
import { warnOfPins } from "#rollout/choice/unmatched.ts";
import { singletonKey } from "#rollout/contract.ts";
import type { Fleets } from "#rollout/fleets.ts";
import { rolloutObject, type WindowsChange } from "#rollout/internal.ts";
import { type PromotionStore, rolloutPromotions } from "#rollout/promotions/store.ts";
import type { Listed, RowStore } from "#rollout/row-store.ts";
import { openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { rolloutWindows, type WindowStore } from "#rollout/windows/store.ts";

/** The callers' access to rows: a row is of one fleet, or of all of them. */
type RowAccess = { readActor: ReadActor; fleets: Fleets };

type FleetRow = { id: string; fleet?: string | undefined };

type Parts<Row> = {
  store: RowStore<Row>;
  access: RowAccess;
  /** The name in logs and errors: "window". */
  word: string;
  /** Throws a `ProblemError` for a row that cannot be, or not by this caller; absent: what the schema allows can be. */
  check?: (row: Row, actor: Actor) => void;
};

/** True if a row holds for this fleet; undefined: for any of them. */
export function holdsFor(row: Pick<FleetRow, "fleet">, fleet: string | undefined): boolean {
  return fleet === undefined || row.fleet === undefined || row.fleet === fleet;
}

function createRowHandlers<Row extends FleetRow>({ store, access, word, check }: Parts<Row>) {
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
        check?.(row, actor);
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
      await readNow(ctx, removal, () => store.remove(found, { by, reason }));
      ctx.console.info(`rollout ${word} removed`, { [word]: id, by, reason });
      return { found, by };
    },

    /** Throws the problem of the store for an id that no row has. */
    async removeKnown(ctx: Context, removal: { id: string; reason: string }): Promise<Listed<Row>> {
      const { found } = await this.remove(ctx, removal);
      if (found === null) throw store.unknown(removal.id);
      return found;
    },
  };
}

const options = { journalRetention: 0, asTerminalError, handlers: { List: unkept } };

/** The limit for listing a fleet. */
const listForMs = 5_000;

/** `RolloutPins`: manages which sentinels rollouts leave out. */
export function createPinService(store: PinStore, access: RowAccess) {
  const rows = createRowHandlers({ store, access, word: "pin" });
  return implement(rolloutPins, {
    handlers: {
      List: async (ctx, request) => ({ pins: await rows.list(ctx, request) }),
      Add: async (ctx, pin) => {
        const added = await rows.add(ctx, pin as Pin);
        const warnings = await ctx.run("match-sentinels", () => warnOf(added, access.fleets));
        return { ...added, warnings };
      },
      Remove: (ctx, removal) => rows.removeKnown(ctx, removal),
    },
    options,
  });
}

/** Warns of a pin that matches nothing. It may be added before its sentinels exist, so it is not refused. */
async function warnOf(pin: Pin, fleets: Fleets): Promise<string[]> {
  const names = pin.fleet === undefined ? fleets.names : [pin.fleet];
  try {
    const lists = names.map((name) => readPatiently(listForMs, fleets.get(name).listFleet));
    return warnOfPins((await Promise.all(lists)).flat(), { pins: [pin], nowMs: 0 });
  } catch (error) {
    return [`nobody knows whether it matches a sentinel: ${(error as Error).message}`];
  }
}

/** `RolloutPromotions`: manages which fleet takes an image only after which other one. */
export function createPromotionService(store: PromotionStore, access: RowAccess) {
  const rows = createRowHandlers({
    store,
    access,
    word: "promotion",
    check: ({ after }, actor) => {
      access.fleets.require(after);
      // The row keeps this fleet from one that waits for `fleet`.
      access.fleets.requireOperator(actor, after);
    },
  });
  return implement(rolloutPromotions, {
    handlers: {
      List: async (ctx, request) => ({ promotions: await rows.list(ctx, request) }),
      Add: (ctx, promotion) => rows.add(ctx, promotion),
      Remove: (ctx, removal) => rows.removeKnown(ctx, removal),
    },
    options,
  });
}

/** `RolloutWindows`: manages when the waves of rollouts may start. */
export function createWindowService(store: WindowStore, access: RowAccess) {
  const rows = createRowHandlers({ store, access, word: "window" });
  /** Journaled: the settings may be others when a handler is tried again. */
  const tell = async (ctx: Context, { fleet }: HasFleet, change: WindowsChange) => {
    const all = await ctx.run("read-fleets", () => [...access.fleets.names]);
    // Called before the answer: from then on no wave starts by the windows as they were.
    for (const name of fleet === undefined ? all : [fleet]) {
      await ctx.client(rolloutObject, name).windowsChanged(change);
    }
  };
  return implement(rolloutWindows, {
    handlers: {
      List: async (ctx, { fleet }) => {
        const windows = await rows.list(ctx, { fleet });
        const holding = windows.filter((one) => holdsFor(one, fleet ?? singletonKey));
        return { windows, now: openingAt(holding, await ctx.date.now()) };
      },
      Add: async (ctx, window) => {
        const added = await rows.add(ctx, window as RolloutWindow);
        await tell(ctx, window, {});
        return added;
      },
      Remove: async (ctx, { id, reason }) => {
        const { found, by } = await rows.remove(ctx, { id, reason });
        // Also for none: whoever removed it may have been killed before the rollout was told.
        const removed = found === null ? {} : { removed: { id, kind: found.kind, by, reason } };
        await tell(ctx, found ?? {}, removed);
        if (found === null) throw store.unknown(id);
        return found;
      },
    },
    options,
  });
}

type HasFleet = { fleet?: string | undefined };
