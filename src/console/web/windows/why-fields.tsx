/** The fields of a new window: its name, its kind, and why it is there. */
import { Field } from "#console/web/parts/field.tsx";
import { type FormPart, TextField } from "#console/web/parts/text-field.tsx";
import type { WindowFields } from "./request.ts";

const kinds = {
  allowed: "Waves start only in windows of this kind, as soon as there is one.",
  freeze: "No wave starts in it, also where a window allows it.",
} as const;

export function WhyFields(part: FormPart<WindowFields>) {
  const { fields, change } = part;
  return (
    <>
      <div class="pair">
        <TextField
          part={part}
          of="id"
          name="Name"
          hint="Such as office-hours."
          input={{ required: true, spellcheck: false }}
        />
        <Field name="Kind" hint={kinds[fields.kind]}>
          <select
            name="kind"
            value={fields.kind}
            onChange={(event) =>
              change({ kind: event.currentTarget.value === "freeze" ? "freeze" : "allowed" })
            }
          >
            <option value="allowed">Allowed window</option>
            <option value="freeze">Freeze</option>
          </select>
        </Field>
      </div>
      <TextField
        part={part}
        of="reason"
        name="Reason"
        hint="Who has to wait reads it."
        input={{ required: true, maxLength: 500 }}
      />
    </>
  );
}
