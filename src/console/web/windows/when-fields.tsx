/** The fields of a new window about when it is. */
import { localZone } from "#console/web/local-time.ts";
import { Fault } from "#console/web/parts/field.tsx";
import { dayNames, type Weekday } from "./when.ts";
import { type FormPart, faultOf, markOf, WindowInput } from "./window-input.tsx";

const zones = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

export function DailyFields(part: FormPart) {
  return (
    <>
      <Days {...part} />
      <div class="pair">
        <WindowInput
          part={part}
          of="from"
          name="From"
          hint="Without both, the whole day."
          input={{ type: "time" }}
        />
        <WindowInput
          part={part}
          of="to"
          name="To"
          hint="At or before From: on the next day."
          input={{ type: "time" }}
        />
      </div>
      <WindowInput
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

function Days({ fields, faults, change }: FormPart) {
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

export function BoundFields(part: FormPart) {
  const hint = `In your time zone, ${localZone()}.`;
  const input = { type: "datetime-local", max: "9999-12-31T23:59" } as const;
  return (
    <div class="pair">
      <WindowInput part={part} of="starts" name="Starts" hint={hint} input={input} />
      <WindowInput part={part} of="ends" name="Ends" hint={hint} input={input} />
    </div>
  );
}
