/** A text field of a form, which says what is wrong with its value. */
import type { InputHTMLAttributes } from "preact";
import type { Faults } from "./faults.ts";
import { Field } from "./field.tsx";

/** What the parts of a form are given. */
export type FormPart<Fields extends object> = {
  fields: Fields;
  faults: Faults<keyof Fields & string>["fields"];
  change: (part: Partial<Fields>) => void;
};

type Props<Fields extends object> = {
  part: FormPart<Fields>;
  of: TextName<Fields>;
  name: string;
  hint: string;
  /** Further attributes of the control. */
  input?: InputHTMLAttributes;
};

/** The fields that have text. */
type TextName<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends string ? Name : never;
}[keyof Fields] &
  string;

export function TextField<Fields extends object>({ part, of, name, hint, input }: Props<Fields>) {
  const { fields, faults, change } = part;
  return (
    <Field name={name} hint={hint} fault={faultOf(of, faults)}>
      <input
        autoComplete="off"
        {...input}
        {...markOf(of, faults)}
        name={of}
        value={fields[of] as string}
        onInput={(event) => change({ [of]: event.currentTarget.value } as Partial<Fields>)}
      />
    </Field>
  );
}

/** What is wrong with the field, for `Field` and `Fault`. */
export function faultOf<Name extends string>(of: Name, faults: Faults<Name>["fields"]) {
  const words = faults[of];
  return words === undefined ? undefined : { id: `${of}-fault`, words };
}

/** The attributes of a control whose value was refused. */
export function markOf<Name extends string>(of: Name, faults: Faults<Name>["fields"]) {
  const fault = faultOf(of, faults);
  return fault && ({ "aria-invalid": true, "aria-describedby": fault.id } as const);
}
