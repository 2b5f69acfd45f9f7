import { iface } from "@restatedev/restate-sdk";
import type { Database } from "#kernel/database.ts";
import { createRowStore } from "#rollout/row-store.ts";
import {
  maxWindows,
  type RolloutWindow,
  type WindowProblemCode,
  weekdays,
  windowHandlers,
  windowsName,
} from "./contract.ts";

export const rolloutWindows = iface.service(
  windowsName,
  {
    List: iface.schemas({
      ...windowHandlers.List,
      description: "The allowed windows and freezes, and whether a wave may start now.",
    }),
    Add: iface.schemas({
      ...windowHandlers.Add,
      description: "Adds an allowed window or a freeze; it holds for the next wave.",
    }),
    Remove: iface.schemas({ ...windowHandlers.Remove, description: "Removes a window." }),
  },
  { description: "When the waves of rollouts may start, and when not." },
);

export type WindowStore = ReturnType<typeof createWindowStore>;

export function createWindowStore(database: Database) {
  return createRowStore<RolloutWindow, WindowProblemCode>(database, {
    table: "rollout_windows",
    columns: {
      id: ({ id }) => id,
      fleet: ({ fleet }) => fleet,
      kind: ({ kind }) => kind,
      time_zone: ({ time_zone }) => time_zone,
      days: ({ days }) => days?.toSorted(),
      from_time: ({ from }) => from,
      to_time: ({ to }) => to,
      starts: ({ starts }) => starts && new Date(starts),
      ends: ({ ends }) => ends && new Date(ends),
      reason: ({ reason }) => reason,
    },
    fromColumns: (row) => toWindow(row as Row),
    most: maxWindows,
    word: "window",
    codes: { exists: "window_exists", tooMany: "too_many_windows", unknown: "unknown_window" },
  });
}

type Row = Pick<RolloutWindow, "id" | "kind" | "time_zone" | "reason"> & {
  fleet: string | null;
  days: RolloutWindow["days"] | null;
  from_time: string | null;
  to_time: string | null;
  starts: Date | null;
  ends: Date | null;
};

function toWindow({ fleet, from_time: from, to_time: to, days, starts, ends, ...row }: Row) {
  const window: RolloutWindow = {
    ...row,
    ...(fleet !== null && { fleet }),
    ...(days !== null && { days: weekdays.filter((day) => days?.includes(day)) }),
    ...(from !== null && { from }),
    ...(to !== null && { to }),
    ...(starts !== null && { starts: starts.toISOString() }),
    ...(ends !== null && { ends: ends.toISOString() }),
  };
  return window;
}
