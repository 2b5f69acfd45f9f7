/** The fields of a new window about when it is. */
import { localZone } from "#console/web/local-time.ts";
import { Fault } from "#console/web/parts/field.tsx";
import { type FormPart, faultOf, markOf, TextField } from "#console/web/parts/text-field.tsx";
import type { WindowFields } from "./request.ts";
import { dayNames, type Weekday } from "./when.ts";

type Part = FormPart<WindowFields>;

const zones = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

export function DailyFields(part: Part) {
  return (
    <>
      <Days {...part} />
      <div class="pair">
        <TextField
          part={part}
          of="from"
          name="From"
          hint="Without both, the whole day."
          input={{ type: "time" }}
        />
        <TextField
          part={part}
          of="to"
          name="To"
          hint="At or before From: on the next day."
          input={{ type: "time" }}
        />
      </div>
      <TextField
        part={part}
        of="time_zone"
        name="Time zone"
        hint="Of the days and the times of day."
        input={{ required: true, list: "time-zones", spellcheck: false }}
      />
      <datalist id="time-zones">
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}

function Days({ fields, faults, change }: Part) {
  const toggle = (day: Weekday, isOn: boolean) =>
    change({ days: isOn ? [...fields.days, day] : fields.days.filter((one) => one !== day) });
  return (
    <fieldset>
      <legend>Days</legend>
      <div class="days">
        {dayNames.map(([day, name]) => (
          <label class="tick" key={day}>
            <input
              {...markOf("days", faults)}
              type="checkbox"
              checked={fields.days.includes(day)}
              onChange={(event) => toggle(day, event.currentTarget.checked)}
            />
            {name}
          </label>
        ))}
      </div>
      <Fault fault={faultOf("days", faults)} />
      <p class="hint">Days on which it begins; without a tick every day.</p>
    </fieldset>
  );
}

export function BoundFields(part: Part) {
  const hint = `In your time zone, ${localZone()}.`;
  const input = { type: "datetime-local", max: "9999-12-31T23:59" } as const;
  return (
    <div class="pair">
      <TextField part={part} of="starts" name="Starts" hint={hint} input={input} />
      <TextField part={part} of="ends" name="Ends" hint={hint} input={input} />
    </div>
  );
}
