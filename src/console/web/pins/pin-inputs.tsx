/** The fields of a new pin: what it is called and why it is there, and which sentinels it holds. */
import { localZone } from "#console/web/local-time.ts";
import { type FormPart, TextField } from "#console/web/parts/text-field.tsx";
import type { PinFields } from "./request.ts";

export function PinInputs(part: FormPart<PinFields>) {
  return (
    <div class="halves">
      <div class="form">
        <TextField
          part={part}
          of="id"
          name="Name"
          hint="Such as debug-gw-7."
          input={{ required: true, spellcheck: false }}
        />
        <TextField
          part={part}
          of="reason"
          name="Reason"
          hint="Plans and histories have it."
          input={{ required: true, maxLength: 500 }}
        />
        <TextField
          part={part}
          of="ends"
          name="Ends"
          hint={`Without it, it holds until it is removed. In your time zone, ${localZone()}.`}
          input={{ type: "datetime-local", max: "9999-12-31T23:59" }}
        />
      </div>
      <SelectorInputs {...part} />
    </div>
  );
}

const selectors = [
  { of: "ids", name: "By id", hint: "Such as gw-7, gw-8." },
  { of: "regions", name: "By region", hint: "Such as eu-central-1, us-east-1." },
  {
    of: "labels",
    name: "By label",
    hint: "Such as tier=canary; all of several. Of these three, it holds what matches each that is filled in.",
  },
] as const;

function SelectorInputs(part: FormPart<PinFields>) {
  return (
    <fieldset>
      <legend>Sentinels</legend>
      <div class="form">
        {selectors.map((field) => (
          <TextField key={field.of} part={part} {...field} input={{ spellcheck: false }} />
        ))}
      </div>
    </fieldset>
  );
}
