/** Pages of rows: windows, pins or promotions. Each has a table with buttons that remove a row, and a form for a new one. */
import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import { send } from "#console/web/api.ts";
import {
  chosenFleet,
  hasSeveralFleets,
  ofChosenFleet,
  titleOf,
} from "#console/web/chosen-fleet.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { Notice, Panel, Table } from "#console/web/parts/blocks.tsx";
import { ask, type Given } from "#console/web/parts/confirm.tsx";
import { type Faults, faultsOf, noFaults, ownPaths } from "#console/web/parts/fields.ts";
import { Field, Form, type FormPart } from "#console/web/parts/form.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { localZone } from "#console/web/times.ts";
import { callerWords } from "#kernel/words.ts";

type PageProps = {
  title: string;
  about: string;
  error: string | undefined;
  /** The part above the table and the form. */
  now?: ComponentChildren;
  children: ComponentChildren;
};

export function RowPage({ title, about, error, now, children }: PageProps) {
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{title}</h1>
          <p>{about}</p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      {now}
      <div class="sides">{children}</div>
    </>
  );
}

/** The word for each kind of row, and the service that has such rows. */
const services = {
  pin: "RolloutPins",
  window: "RolloutWindows",
  promotion: "RolloutPromotions",
} as const;
type Word = keyof typeof services;

type Listed = {
  id: string;
  fleet?: string | undefined;
  reason: string;
  added_by: string;
  added_at: string;
};

type Props<Row> = {
  word: Word;
  title: string;
  none: string;
  rows: readonly Row[];
  /** The columns between the name and the reason. */
  columns: { name: string; isLong?: boolean; of: (row: Row) => ComponentChildren }[];
  /** The question that is asked before a row is removed. */
  removal: (row: Row) => { title: string; lines: string[] };
  reload: () => void;
};

export function RowTable<Row extends Listed>(props: Props<Row>) {
  const { word, title, none, rows } = props;
  return (
    <Panel
      title={title}
      beside={rows.length > 0 && <span class="quiet">dates are in {localZone()}</span>}
    >
      {rows.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <Table
          names={[capital(word), ...columnsOf(props).map(({ name }) => name), "Reason", "Added"]}
          action={may("operate") ? "Remove" : undefined}
        >
          {rows.map((row) => (
            <RowCells key={row.id} row={row} table={props} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function columnsOf<Row extends Listed>({ columns }: Props<Row>): Props<Row>["columns"] {
  if (!hasSeveralFleets()) return columns;
  const ofRow = ({ fleet }: Row) => (fleet === undefined ? "every one" : titleOf(fleet));
  return [{ name: "Fleet", of: ofRow }, ...columns];
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
      await send(`${services[word]}/Remove`, { id: row.id, reason });
      reload();
    },
  });
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

export type RowKind<Fields extends object, Row> = {
  word: Word;
  about: string;
  /** The fields of a new row, by the names of the request. */
  empty: Fields;
  inputs: ComponentType<FormPart<Fields>>;
  /** Throws what is wrong with the fields that the server would not see. */
  toRow: (fields: Fields) => object;
  describe: (row: Row) => string;
  /** True if its own fields name the fleet. */
  namesItsFleet?: true;
};

type FormProps<Fields extends object, Row> = { kind: RowKind<Fields, Row>; reload: () => void };

/** The form of a new row, for operators of the chosen fleet; others who may operate read why it is missing. */
export function RowForm<Fields extends object, Row extends { id: string }>(
  props: FormProps<Fields, Row>,
) {
  const { word, about, inputs: Inputs, describe, namesItsFleet } = props.kind;
  const { part, faults, added, add, scope } = useNewRow(props);
  if (!may("operate")) return null;
  if (namesItsFleet !== true && !mayRollOut(chosenFleet.value)) {
    return <p class="quiet">The settings name other operators of this fleet.</p>;
  }
  const button = (
    <button type="submit" class="main">
      Add the {word}
    </button>
  );
  return (
    <Panel title={`Add a ${word}`} beside={<span class="quiet">{about}</span>}>
      <Form faults={faults} button={button} submit={() => void add()}>
        <Inputs {...part} />
        {namesItsFleet !== true && hasSeveralFleets() && <ScopeField {...scope} />}
      </Form>
      <div role="status" class="added">
        {added !== undefined && (
          <Notice tone="good">
            The {word} {added.id} is added: {describe(added)}.
          </Notice>
        )}
      </div>
    </Panel>
  );
}

function useNewRow<Fields extends object, Row>({ kind, reload }: FormProps<Fields, Row>) {
  const [fields, setFields] = useState(kind.empty);
  const [faults, setFaults] = useState<Faults<keyof Fields & string>>(noFaults);
  const [added, setAdded] = useState<Row>();
  const [isForAll, setForAll] = useState(false);
  const add = async () => {
    setAdded(undefined);
    try {
      const ofFleet = kind.namesItsFleet === true || isForAll ? {} : ofChosenFleet();
      setAdded(
        await send<Row>(`${services[kind.word]}/Add`, { ...kind.toRow(fields), ...ofFleet }),
      );
      setFields(kind.empty);
      setFaults(noFaults);
      reload();
    } catch (problem) {
      setFaults(faultsOf((problem as Error).message, ownPaths(kind.empty)));
    }
  };
  const part: FormPart<Fields> = {
    fields,
    faults: faults.fields,
    change: (some) => setFields({ ...fields, ...some }),
  };
  return { part, faults, added, add, scope: { isForAll, setForAll } };
}

type Scope = { isForAll: boolean; setForAll: (isForAll: boolean) => void };

function ScopeField({ isForAll, setForAll }: Scope) {
  return (
    <Field name="Holds for" hint="A row of every fleet holds for those to come, too.">
      <select
        name="scope"
        value={isForAll ? "all" : "one"}
        onChange={(event) => setForAll(event.currentTarget.value === "all")}
      >
        <option value="one">This fleet, {titleOf(chosenFleet.value)}</option>
        {mayRollOut(undefined) && <option value="all">Every fleet</option>}
      </select>
    </Field>
  );
}
