/** The fields of a new rollout about its start, soaks and failures. */
import { localZone } from "#console/web/local-time.ts";
import { Field } from "#console/web/parts/field.tsx";
import type { StartFields } from "./request.ts";

type Props = { fields: StartFields; change: (part: Partial<StartFields>) => void };

export function FailureFields({ fields, change }: Props) {
  return (
    <>
      <Field
        name="Not before"
        hint={`When the first wave starts at the earliest, in your time zone, ${localZone()}.`}
      >
        <input
          name="not-before"
          type="datetime-local"
          max="9999-12-31T23:59"
          value={fields.notBefore}
          onInput={(event) => change({ notBefore: event.currentTarget.value })}
        />
      </Field>
      <Field
        name="Soak"
        hint="Seconds for which each wave is watched: one number, or one per wave."
      >
        <input
          name="soak"
          inputMode="numeric"
          autoComplete="off"
          value={fields.soakSeconds}
          onInput={(event) => change({ soakSeconds: event.currentTarget.value })}
        />
      </Field>
      <Field name="Failures allowed" hint="In all: a count, or a percentage such as 2%.">
        <input
          name="max-failed"
          autoComplete="off"
          value={fields.maxFailed}
          onInput={(event) => change({ maxFailed: event.currentTarget.value })}
        />
      </Field>
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
