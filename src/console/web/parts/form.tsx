/** The fields of forms. What is wrong with the value of a field is said at the field. */
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Faults } from "./fields.ts";

export type FormPart<Fields extends object> = {
  fields: Fields;
  faults: Faults<keyof Fields & string>["fields"];
  change: (part: Partial<Fields>) => void;
};

type TextName<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends string ? Name : never;
}[keyof Fields] &
  string;

type Entry<Fields> = {
  of: TextName<Fields>;
  name: string;
  hint: string;
  /** Further attributes of its control. */
  input?: InputHTMLAttributes;
  /** Values to choose from, in words; absent: any text. */
  options?: readonly (readonly [value: string, words: string])[];
};

export const required = { required: true, spellcheck: false };
export const plain = { spellcheck: false };
export const moment = { type: "datetime-local", max: "9999-12-31T23:59" } as const;
export const reason = { required: true, maxLength: 500 };

type EntriesProps<Fields extends object> = {
  part: FormPart<Fields>;
  /** Below each other; those of a list are beside each other. */
  entries: readonly (Entry<Fields> | readonly Entry<Fields>[])[];
};

export function Entries<Fields extends object>({ part, entries }: EntriesProps<Fields>) {
  return (
    <>
      {entries.map((entry) =>
        "of" in entry ? (
          <EntryField key={entry.of} part={part} entry={entry} />
        ) : (
          <div class="pair" key={entry[0]?.of}>
            <Entries part={part} entries={entry} />
          </div>
        ),
      )}
    </>
  );
}

type EntryProps<Fields extends object> = { part: FormPart<Fields>; entry: Entry<Fields> };

function EntryField<Fields extends object>({ part, entry }: EntryProps<Fields>) {
  const { of, name, hint, input, options } = entry;
  const control = {
    ...markOf(of, part.faults),
    name: of,
    value: part.fields[of] as string,
    onInput: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
      part.change({ [of]: value } as Partial<Fields>),
  };
  return (
    <Field name={name} hint={hint} fault={faultOf(of, part.faults)}>
      {options === undefined ? (
        <input autoComplete="off" {...input} {...control} />
      ) : (
        <select {...control}>
          {options.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type Props = {
  name: string;
  hint?: string;
  /** The fault of the value; the control names `id` in its `aria-describedby`. */
  fault?: { id: string; words: string } | undefined;
  children: ComponentChildren;
};

/** A labelled control, with a hint below it. */
export function Field({ name, hint, fault, children }: Props) {
  return (
    <div>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is the child */}
      <label>
        <span class="label">{name}</span>
        {children}
      </label>
      <Fault fault={fault} />
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

export function Fault({ fault }: Pick<Props, "fault">) {
  if (fault === undefined) return null;
  return (
    <p class="fault" id={fault.id} role="alert">
      {fault.words}
    </p>
  );
}

export function faultOf<Name extends string>(of: Name, faults: Faults<Name>["fields"]) {
  const words = faults[of];
  return words === undefined ? undefined : { id: `${of}-fault`, words };
}

/** The attributes of a control whose value was refused. */
export function markOf<Name extends string>(of: Name, faults: Faults<Name>["fields"]) {
  const fault = faultOf(of, faults);
  return fault && ({ "aria-invalid": true, "aria-describedby": fault.id } as const);
}

type FormProps = {
  faults: Faults<string>;
  button: ComponentChildren;
  submit: () => void;
  /** True if its first field gets the focus, because the operator has opened it to type. */
  isOpened?: true;
  children: ComponentChildren;
};

/** The first refused field gets the focus once, its group unfolded. Faults of no field are above the button. */
export function Form({ faults, button, submit, isOpened, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each refusal
  useLayoutEffect(() => {
    const field = form.current?.querySelector<HTMLElement>("[aria-invalid]");
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  }, [faults]);
  useEffect(() => {
    if (isOpened === true) form.current?.querySelector("input")?.focus();
  }, [isOpened]);
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {children}
      {faults.rest !== "" && (
        <p role="alert" class="refused">
          {faults.rest}
        </p>
      )}
      <div class="row">{button}</div>
    </form>
  );
}
