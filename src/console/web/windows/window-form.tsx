/** The form of a new window. */
import { localZone } from "#console/web/local-time.ts";
import { Fault, Field } from "#console/web/parts/field.tsx";
import { type FormPart, faultOf, markOf, TextField } from "#console/web/parts/text-field.tsx";
import { RowForm, type RowKind } from "#console/web/rows/row-form.tsx";
import type { ListedWindow } from "#rollout/windows/contract.ts";
import { toWindow, type WindowFields, windowPaths } from "./request.ts";
import { dayNames, type Weekday, whenOf } from "./when.ts";

const empty: WindowFields = {
  id: "",
  kind: "allowed",
  time_zone: localZone(),
  days: [],
  from: "",
  to: "",
  starts: "",
  ends: "",
  reason: "",
};

const window: RowKind<WindowFields, ListedWindow> = {
  word: "window",
  about: "It holds for the next wave, also of a rollout in progress.",
  empty,
  paths: windowPaths,
  inputs: WindowInputs,
  toRow: toWindow,
  describe: whenOf,
};

export function WindowForm({ reload }: { reload: () => void }) {
  return <RowForm kind={window} reload={reload} />;
}

function WindowInputs(part: FormPart<WindowFields>) {
  return (
    <div class="halves">
      <div class="form">
        <WhyFields {...part} />
        <BoundFields {...part} />
      </div>
      <div class="form">
        <DailyFields {...part} />
      </div>
    </div>
  );
}

const kinds = {
  allowed: "Waves start only in windows of this kind, as soon as there is one.",
  freeze: "No wave starts in it, also where a window allows it.",
} as const;

/** The fields of a new window: its name, its kind, and why it is there. */
function WhyFields(part: FormPart<WindowFields>) {
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

type Part = FormPart<WindowFields>;

const zones = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];

/** The fields of a new window about when it is. */
function DailyFields(part: Part) {
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

function BoundFields(part: Part) {
  const hint = `In your time zone, ${localZone()}.`;
  const input = { type: "datetime-local", max: "9999-12-31T23:59" } as const;
  return (
    <div class="pair">
      <TextField part={part} of="starts" name="Starts" hint={hint} input={input} />
      <TextField part={part} of="ends" name="Ends" hint={hint} input={input} />
    </div>
  );
}
