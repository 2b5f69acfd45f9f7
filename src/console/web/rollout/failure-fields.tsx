/** The fields of a new rollout about its start, soaks and failures. */
import { localZone } from "#console/web/local-time.ts";
import { type FormPart, TextField } from "#console/web/parts/text-field.tsx";
import type { StartFields } from "./request.ts";

export function FailureFields(part: FormPart<StartFields>) {
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
        hint="Seconds for which each wave is watched: one number, or one per wave."
        input={{ inputMode: "numeric" }}
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
