/** The form of a new rollout. What is wrong with a field is said at the field. */
import { useEffect } from "preact/hooks";
import type { Faults } from "#console/web/parts/faults.ts";
import { TextField } from "#console/web/parts/text-field.tsx";
import { useFocusOnFault } from "#console/web/parts/use-focus-on-fault.ts";
import { ApprovalField } from "./approval-field.tsx";
import { ChoiceFields } from "./choice-fields.tsx";
import { FailureFields } from "./failure-fields.tsx";
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
