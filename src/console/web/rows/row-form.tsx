/** The form of a new row, a window, a pin or a promotion. What is wrong with a field is said at the field. */
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { send } from "#console/web/api.ts";
import {
  chosenFleet,
  hasSeveralFleets,
  ofChosenFleet,
  titleOf,
} from "#console/web/chosen-fleet.ts";
import { mayRollOut } from "#console/web/may.ts";
import { type Faults, faultsOf, noFaults } from "#console/web/parts/faults.ts";
import { Field } from "#console/web/parts/field.tsx";
import { Notice } from "#console/web/parts/notice.tsx";
import type { FormPart } from "#console/web/parts/text-field.tsx";
import { useFocusOnFault } from "#console/web/parts/use-focus-on-fault.ts";
import { type RowWord, rowServices } from "./row-table.tsx";

export type RowKind<Fields extends object, Row> = {
  /** What a row is called: "pin". */
  word: RowWord;
  about: string;
  empty: Fields;
  /** Each field with its path in the request. */
  paths: Readonly<Record<keyof Fields & string, string>>;
  inputs: ComponentType<FormPart<Fields>>;
  /** Throws what is wrong with the fields that the server would not see. */
  toRow: (fields: Fields) => object;
  /** The row that was added, in words. */
  describe: (row: Row) => string;
  /** Whether its own fields name the fleet. */
  namesItsFleet?: true;
};

type Props<Fields extends object, Row> = { kind: RowKind<Fields, Row>; reload: () => void };

export function RowForm<Fields extends object, Row extends { id: string }>(
  props: Props<Fields, Row>,
) {
  const { word, about, inputs: Inputs, describe } = props.kind;
  const { part, rest, added, add, scope } = useNewRow(props);
  const form = useFocusOnFault(part.faults);
  return (
    <section class="panel" aria-labelledby="add-title">
      <header class="panel-head">
        <h2 id="add-title">Add a {word}</h2>
        <span class="quiet">{about}</span>
      </header>
      <form
        ref={form}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Inputs {...part} />
        {props.kind.namesItsFleet !== true && hasSeveralFleets() && <ScopeField {...scope} />}
        {rest !== "" && (
          <p role="alert" class="refused">
            {rest}
          </p>
        )}
        <div class="row">
          <button type="submit" class="main">
            Add the {word}
          </button>
        </div>
      </form>
      <div role="status" class="added">
        {added !== undefined && (
          <Notice tone="good">
            The {word} {added.id} is added: {describe(added)}.
          </Notice>
        )}
      </div>
    </section>
  );
}

function useNewRow<Fields extends object, Row>({ kind, reload }: Props<Fields, Row>) {
  const [fields, setFields] = useState(kind.empty);
  const [faults, setFaults] = useState<Faults<keyof Fields & string>>(noFaults);
  const [added, setAdded] = useState<Row>();
  const [isForAll, setForAll] = useState(false);
  const add = async () => {
    setAdded(undefined);
    try {
      const ofFleet = kind.namesItsFleet === true || isForAll ? {} : ofChosenFleet();
      setAdded(
        await send<Row>(`${rowServices[kind.word]}/Add`, { ...kind.toRow(fields), ...ofFleet }),
      );
      setFields(kind.empty);
      setFaults(noFaults);
      reload();
    } catch (problem) {
      setFaults(faultsOf((problem as Error).message, kind.paths));
    }
  };
  const part: FormPart<Fields> = {
    fields,
    faults: faults.fields,
    change: (some) => setFields({ ...fields, ...some }),
  };
  return { part, rest: faults.rest, added, add, scope: { isForAll, setForAll } };
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
