/** The table `rollout_windows`. */
import { type Database, inTransaction } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import {
  type ListedWindow,
  maxWindows,
  type RolloutWindow,
  type WindowProblemCode,
} from "./contract.ts";

export type WindowStore = ReturnType<typeof createWindowStore>;

export function createWindowStore(database: Database) {
  const list = async (): Promise<ListedWindow[]> => {
    const { rows } = await database.query<Row>("SELECT * FROM rollout_windows ORDER BY id");
    return rows.map(toListed);
  };

  const find = async (id: string): Promise<ListedWindow | null> =>
    (await list()).find((window) => window.id === id) ?? null;

  return {
    list,
    find,

    /** Adding the same one again changes nothing. Throws 409 for another one with this id, and for too many. */
    async add(window: RolloutWindow, by: string): Promise<ListedWindow> {
      const { id, kind, time_zone, days, from, to, starts, ends, reason } = window;
      const row = [id, kind, time_zone, days, from, to, starts, ends, reason, by, maxWindows];
      await inTransaction(database, async (transaction) => {
        // Two that are added at the same time would not see each other.
        await transaction.query("LOCK TABLE rollout_windows IN SHARE ROW EXCLUSIVE MODE");
        await transaction.query(insert, row);
      });
      const known = await find(id);
      if (known === null) throw refuse(409, "too_many_windows", tooMany);
      if (definitionOf(known) === definitionOf(window)) return known;
      throw refuse(409, "window_exists", `there is another window ${id}: remove it first`);
    },

    /** Removes this one; another that has its id by now stays. */
    async remove({ id, added_at }: ListedWindow): Promise<void> {
      const remove =
        "DELETE FROM rollout_windows WHERE id = $1 AND date_trunc('milliseconds', added_at) = $2";
      await database.query(remove, [id, added_at]);
    },
  };
}

const tooMany = `there are ${maxWindows} windows already: remove one that is over`;

const insert = `
  INSERT INTO rollout_windows
    (id, kind, time_zone, days, from_time, to_time, starts, ends, reason, added_by)
  SELECT $1, $2, $3, $4::text[], $5, $6, $7::timestamptz, $8::timestamptz, $9, $10
  WHERE (SELECT count(*) FROM rollout_windows) < $11
  ON CONFLICT (id) DO NOTHING`;

type Row = Pick<ListedWindow, "id" | "kind" | "time_zone" | "reason" | "added_by"> & {
  days: ListedWindow["days"] | null;
  from_time: string | null;
  to_time: string | null;
  starts: Date | null;
  ends: Date | null;
  added_at: Date;
};

function toListed({ from_time: from, to_time: to, days, starts, ends, added_at, ...row }: Row) {
  const listed: ListedWindow = {
    ...row,
    ...(days !== null && { days }),
    ...(from !== null && { from }),
    ...(to !== null && { to }),
    ...(starts !== null && { starts: starts.toISOString() }),
    ...(ends !== null && { ends: ends.toISOString() }),
    added_at: added_at.toISOString(),
  };
  return listed;
}

/** The same text for windows that mean the same. */
function definitionOf({
  id,
  kind,
  time_zone,
  days,
  from,
  to,
  starts,
  ends,
  reason,
}: RolloutWindow) {
  const instants = [starts, ends].map((at) => (at === undefined ? null : Date.parse(at)));
  return JSON.stringify([id, kind, time_zone, days?.toSorted(), from, to, ...instants, reason]);
}

export function unknownWindow(id: string) {
  const detail = `there is no window ${id}; vedette windows list shows them`;
  return refuse(404, "unknown_window", detail);
}

function refuse(status: number, code: WindowProblemCode, detail: string) {
  return new ProblemError<WindowProblemCode>({ status, code, detail });
}
