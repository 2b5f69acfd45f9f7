/** The form of a new rollout. What is wrong with a field is said at the field. */
import { useEffect } from "preact/hooks";
import { localZone } from "#console/web/local-time.ts";
import type { Faults } from "#console/web/parts/faults.ts";
import { Field } from "#console/web/parts/field.tsx";
import { type FormPart, faultOf, markOf, TextField } from "#console/web/parts/text-field.tsx";
import { useFocusOnFault } from "#console/web/parts/use-focus-on-fault.ts";
import { isApprovals } from "./approval.ts";
import { ChoiceFields } from "./choice-fields.tsx";
import { GateFields } from "./gate-fields.tsx";
import { ImageField } from "./image-field.tsx";
import type { StartFields } from "./request.ts";

type Props = {
  fields: StartFields;
  faults: Faults<keyof StartFields>;
  change: (part: Partial<StartFields>) => void;
  show: () => void;
};

export function StartForm({ fields, faults, change, show }: Props) {
  const form = useFocusOnFault(faults);
  // The operator has opened the form to type.
  useEffect(() => form.current?.querySelector("input")?.focus(), [form]);
  const part = { fields, faults: faults.fields, change };
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        show();
      }}
    >
      <ImageField {...part} />
      <TextField
        part={part}
        of="waves"
        name="Waves"
        hint="Cumulative percent of the fleet after each wave; the last is 100."
        input={{ inputMode: "numeric" }}
      />
      <GateFields {...part} />
      <FailureFields {...part} />
      <ApprovalField {...part} />
      <TextField
        part={part}
        of="reason"
        name="Reason"
        hint="Why this rollout is done. Its page, its message and the history have it."
        input={{ maxLength: 500 }}
      />
      <ChoiceFields {...part} />
      {faults.rest !== "" && (
        <p role="alert" class="refused">
          {faults.rest}
        </p>
      )}
      <div class="row">
        <button type="submit">Show the plan</button>
      </div>
    </form>
  );
}

function ApprovalField({ fields, faults, change }: FormPart<StartFields>) {
  const choose = (value: string) => change({ approvals: isApprovals(value) ? value : "" });
  return (
    <Field
      name="Approvals"
      hint="Waves that start only once another operator has approved them. The settings may ask for more."
      fault={faultOf("approvals", faults)}
    >
      <select
        {...markOf("approvals", faults)}
        name="approvals"
        value={fields.approvals}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">Only what the settings ask for</option>
        <option value="last_wave">The last wave</option>
        <option value="after_first">All after the first</option>
        <option value="every_wave">Every wave</option>
      </select>
    </Field>
  );
}

function FailureFields(part: FormPart<StartFields>) {
  const { fields, change } = part;
  return (
    <>
      <TextField
        part={part}
        of="notBefore"
        name="Not before"
        hint={`When the first wave starts at the earliest, in your time zone, ${localZone()}.`}
        input={{ type: "datetime-local", max: "9999-12-31T23:59" }}
      />
      <TextField
        part={part}
        of="soakSeconds"
        name="Soak"
        hint="How long each wave is watched: such as 10m, or one for each wave, 1h, 10m, 0."
      />
      <TextField
        part={part}
        of="maxFailed"
        name="Failures allowed"
        hint="In all: a count, or a percentage such as 2%."
      />
      <label class="tick">
        <input
          type="checkbox"
          checked={fields.rollsBack}
          onChange={(event) => change({ rollsBack: event.currentTarget.checked })}
        />
        Roll back by itself when too many fail
      </label>
    </>
  );
}
