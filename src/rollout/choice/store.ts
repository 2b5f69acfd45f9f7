import { iface } from "@restatedev/restate-sdk";
import type { Database } from "#kernel/database.ts";
import { createRowStore } from "#rollout/row-store.ts";
import { maxPins, type Pin, type PinProblemCode, pinHandlers, pinsName } from "./contract.ts";

export const rolloutPins = iface.service(
  pinsName,
  {
    List: iface.schemas({ ...pinHandlers.List, description: "The pins, by id." }),
    Add: iface.schemas({
      ...pinHandlers.Add,
      description: "Adds a pin; it holds for deploys that have not begun.",
    }),
    Remove: iface.schemas({ ...pinHandlers.Remove, description: "Removes a pin." }),
  },
  { description: "Sentinels that rollouts leave out." },
);

export type PinStore = ReturnType<typeof createPinStore>;

export function createPinStore(database: Database) {
  return createRowStore<Pin, PinProblemCode>(database, {
    table: "rollout_pins",
    columns: {
      id: ({ id }) => id,
      fleet: ({ fleet }) => fleet,
      ids: ({ ids }) => ids?.toSorted(),
      regions: ({ regions }) => regions?.toSorted(),
      labels: ({ labels }) => labels && JSON.stringify(sorted(labels)),
      whole_fleet: (pin) => pin.whole_fleet,
      ends: ({ ends }) => ends && new Date(ends),
      reason: ({ reason }) => reason,
    },
    fromColumns: (row) => toPin(row as Row),
    most: maxPins,
    word: "pin",
    codes: { exists: "pin_exists", tooMany: "too_many_pins", unknown: "unknown_pin" },
  });
}

/** By name: Postgres keeps another order. */
function sorted(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

type Row = Pick<Pin, "id" | "reason"> & {
  fleet: string | null;
  ids: string[] | null;
  regions: string[] | null;
  labels: Record<string, string> | null;
  whole_fleet: boolean | null;
  ends: Date | null;
};

function toPin({ fleet, ids, regions, labels, whole_fleet, ends, ...row }: Row): Pin {
  return {
    ...row,
    ...(fleet !== null && { fleet }),
    ...(ids !== null && { ids }),
    ...(regions !== null && { regions }),
    ...(labels !== null && { labels: sorted(labels) }),
    ...(whole_fleet === true && { whole_fleet }),
    ...(ends !== null && { ends: ends.toISOString() }),
  };
}
