/** A table of rows, windows, pins or promotions, each with a button that removes it, for who may do that. */
import type { ComponentChildren } from "preact";
import { send } from "#console/web/api.ts";
import { hasSeveralFleets, titleOf } from "#console/web/chosen-fleet.ts";
import { localZone } from "#console/web/local-time.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { ask, type Given } from "#console/web/parts/confirm.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { callerWords } from "#kernel/words.ts";

type Listed = {
  id: string;
  fleet?: string | undefined;
  reason: string;
  added_by: string;
  added_at: string;
};

/** What a row is called, and the service that has such rows. */
export const rowServices = {
  pin: "RolloutPins",
  window: "RolloutWindows",
  promotion: "RolloutPromotions",
} as const;
export type RowWord = keyof typeof rowServices;

type Props<Row> = {
  /** What a row is called: "pin". */
  word: RowWord;
  title: string;
  /** What is so without any. */
  none: string;
  rows: readonly Row[];
  /** Between the name and the reason. */
  columns: { name: string; isLong?: boolean; of: (row: Row) => ComponentChildren }[];
  /** What is asked before a row is removed. */
  removal: (row: Row) => { title: string; lines: string[] };
  reload: () => void;
};

export function RowTable<Row extends Listed>(props: Props<Row>) {
  const { word, title, none, rows } = props;
  return (
    <section class="panel" aria-labelledby="rows-title">
      <header class="panel-head">
        <h2 id="rows-title">{title}</h2>
        {rows.length > 0 && <span class="quiet">dates are in {localZone()}</span>}
      </header>
      {rows.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <Head names={[capital(word), ...columnsOf(props).map(({ name }) => name)]} />
            <tbody>
              {rows.map((row) => (
                <RowCells key={row.id} row={row} table={props} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** With that of the fleet, where there are several. */
function columnsOf<Row extends Listed>({ columns }: Props<Row>): Props<Row>["columns"] {
  if (!hasSeveralFleets()) return columns;
  const ofRow = ({ fleet }: Row) => (fleet === undefined ? "every one" : titleOf(fleet));
  return [{ name: "Fleet", of: ofRow }, ...columns];
}

function Head({ names }: { names: string[] }) {
  return (
    <thead>
      <tr>
        {[...names, "Reason", "Added"].map((name) => (
          <th key={name}>{name}</th>
        ))}
        {may("operate") && (
          <th>
            <span class="visually-hidden">Remove</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

function RowCells<Row extends Listed>({ row, table }: { row: Row; table: Props<Row> }) {
  const { id, reason, added_by: by, added_at: at } = row;
  return (
    <tr>
      <td data-name={capital(table.word)} class="row-name">
        <b>{id}</b>
      </td>
      {columnsOf(table).map(({ name, isLong, of }) => (
        <td key={name} data-name={name} class={isLong === true ? "row-reason" : undefined}>
          {of(row)}
        </td>
      ))}
      <td data-name="Reason" class="row-reason">
        {reason}
      </td>
      <td data-name="Added">
        <span>
          <Time iso={at} /> by {callerWords(by)}
        </span>
      </td>
      {may("operate") && (
        <td class="number">
          {mayRollOut(row.fleet) ? (
            <button
              type="button"
              class="small"
              aria-label={`Remove ${id}…`}
              onClick={() => askRemoval(row, table)}
            >
              Remove…
            </button>
          ) : (
            <span class="quiet small-text">of other operators</span>
          )}
        </td>
      )}
    </tr>
  );
}

function askRemoval<Row extends Listed>(row: Row, { word, removal, reload }: Props<Row>) {
  ask({
    ...removal(row),
    verb: "Remove it",
    isGrave: false,
    field: { label: "Reason", kind: "text" } as const,
    run: async ({ text: reason }: Given) => {
      await send(`${rowServices[word]}/Remove`, { id: row.id, reason });
      reload();
    },
  });
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
