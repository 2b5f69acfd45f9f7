/** One field of the form of a window. */
import type { InputHTMLAttributes } from "preact";
import { Field } from "#console/web/parts/field.tsx";
import type { Faults, WindowFields } from "./request.ts";

export type FormPart = {
  fields: WindowFields;
  faults: Faults["fields"];
  change: (part: Partial<WindowFields>) => void;
};

type Props = {
  part: FormPart;
  of: Exclude<keyof WindowFields, "kind" | "days">;
  name: string;
  hint: string;
  /** Further attributes of the control. */
  input?: InputHTMLAttributes;
};

export function WindowInput({ part: { fields, faults, change }, of, name, hint, input }: Props) {
  return (
    <Field name={name} hint={hint} fault={faultOf(of, faults)}>
      <input
        {...input}
        {...markOf(of, faults)}
        name={of}
        autoComplete="off"
        value={fields[of]}
        onInput={(event) => change({ [of]: event.currentTarget.value })}
      />
    </Field>
  );
}

/** What is wrong with the field, for `Field` and `Fault`. */
export function faultOf(of: keyof WindowFields, faults: Faults["fields"]) {
  const words = faults[of];
  return words === undefined ? undefined : { id: `${of}-fault`, words };
}

/** The attributes of a control whose value was refused. */
export function markOf(of: keyof WindowFields, faults: Faults["fields"]) {
  const fault = faultOf(of, faults);
  return fault && ({ "aria-invalid": true, "aria-describedby": fault.id } as const);
}
