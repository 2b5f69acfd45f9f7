/** The field of a new rollout about which of its waves need an approval. */
import { Field } from "#console/web/parts/field.tsx";
import { type FormPart, faultOf, markOf } from "#console/web/parts/text-field.tsx";
import { isApprovals } from "./approval.ts";
import type { StartFields } from "./request.ts";

export function ApprovalField({ fields, faults, change }: FormPart<StartFields>) {
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
