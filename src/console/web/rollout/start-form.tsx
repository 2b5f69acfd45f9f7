/** The form of a new rollout. What is wrong with a field is said at the field. */
import { useState } from "preact/hooks";
import { count } from "#console/web/format.ts";
import type { Faults } from "#console/web/parts/fields.ts";
import {
  Entries,
  Fault,
  Field,
  Form,
  type FormPart,
  faultOf,
  markOf,
  moment,
  plain,
} from "#console/web/parts/form.tsx";
import { localZone } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { offWords } from "#kernel/words.ts";
import type { CheckView } from "#monitor/results/contract.ts";
import { ImageField } from "./image-field.tsx";
import { countFilled, type StartFields } from "./request.ts";

type Part = FormPart<StartFields>;

type Props = {
  fields: StartFields;
  faults: Faults<keyof StartFields>;
  change: Part["change"];
  show: () => void;
};

const wavesHint = "Cumulative percent of the fleet after each wave; the last is 100.";
const reasonHint = "Why this rollout is done. Its page, its message and the history have it.";

export function StartForm({ fields, faults, change, show }: Props) {
  const part = { fields, faults: faults.fields, change };
  return (
    <Form
      faults={faults}
      button={<button type="submit">Show the plan</button>}
      submit={show}
      isOpened
    >
      <ImageField {...part} />
      <Entries
        part={part}
        entries={[{ of: "waves", name: "Waves", hint: wavesHint, input: { inputMode: "numeric" } }]}
      />
      <GateFields {...part} />
      <FailureFields {...part} />
      <Entries
        part={part}
        entries={[
          approvals,
          { of: "reason", name: "Reason", hint: reasonHint, input: { maxLength: 500 } },
        ]}
      />
      <ChoiceFields {...part} />
    </Form>
  );
}

const approvals = {
  of: "approvals",
  name: "Approvals",
  hint: "Waves that start only once another operator has approved them. The settings may ask for more.",
  options: [
    ["", "Only what the settings ask for"],
    ["last_wave", "The last wave"],
    ["after_first", "All after the first"],
    ["every_wave", "Every wave"],
  ],
} as const;

const notBeforeHint = `When the first wave starts at the earliest, in your time zone, ${localZone()}.`;
const soakHint = "How long each wave is watched: such as 10m, or one for each wave, 1h, 10m, 0.";
const watchHint =
  "How long it is watched once it has completed: such as 1h. Another rollout ends it.";
const failuresHint = "In all: a count, or a percentage such as 2%.";

function FailureFields(part: Part) {
  return (
    <>
      <Entries
        part={part}
        entries={[
          { of: "notBefore", name: "Not before", hint: notBeforeHint, input: moment },
          { of: "soakSeconds", name: "Soak", hint: soakHint },
          { of: "watchSeconds", name: "Watch", hint: watchHint },
          { of: "maxFailed", name: "Failures allowed", hint: failuresHint },
        ]}
      />
      <label class="tick">
        <input
          type="checkbox"
          checked={part.fields.rollsBack}
          onChange={(event) => part.change({ rollsBack: event.currentTarget.checked })}
        />
        Roll back by itself when too many fail
      </label>
    </>
  );
}

const choice = [
  {
    of: "canaries",
    name: "Canaries",
    hint: "By label, such as tier=canary; all of several. These sentinels come first.",
    input: plain,
  },
  {
    of: "regions",
    name: "Order of regions",
    hint: "An order, not a choice: such as eu-central-1, us-east-1, then all others.",
    input: plain,
  },
  [
    {
      of: "maxPerRegion",
      name: "Cap per region",
      hint: "In one wave: a count, or a percentage of the region such as 25%. A larger wave becomes several.",
    },
    {
      of: "maxUnavailable",
      name: "Unavailable at most",
      hint: "Unhealthy, failed or in flight at one time: a count, or a percentage of the fleet such as 10%.",
    },
  ],
] as const;

/** The fields that choose the sentinels and their order; folded, as most rollouts need none of them. */
function ChoiceFields(part: Part) {
  const filled = countFilled(part.fields);
  return (
    <details class="group">
      <summary>
        Choice and order{" "}
        <span class="quiet">
          {filled === 0 ? "every sentinel, all regions alike" : `fields filled in: ${filled}`}
        </span>
      </summary>
      <div class="form">
        <Entries part={part} entries={choice} />
        <SelectorFields part={part} of="only" legend="Only these">
          What matches each of these that is filled in gets the image; all others are left out.
        </SelectorFields>
        <SelectorFields part={part} of="exclude" legend="Exclude">
          One exclusion: what matches each of these that is filled in. For several use the command
          line, or pins, which hold for every rollout.
        </SelectorFields>
      </div>
    </details>
  );
}

const selectors = [
  { field: "Ids", hint: "Such as gw-7, gw-8." },
  { field: "Regions", hint: "Such as eu-central-1." },
  { field: "Labels", hint: "Such as kernel=5; all of several." },
] as const;

type Selectors = { part: Part; of: "only" | "exclude"; legend: string; children: string };

function SelectorFields({ part, of, legend, children }: Selectors) {
  const nameOf = (field: string) =>
    of === "only" ? `Only these ${field}` : `By ${field.slice(0, -1)}`;
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="form">
        <Entries
          part={part}
          entries={selectors.map(({ field, hint }) => ({
            of: `${of}${field}` as const,
            name: nameOf(field.toLowerCase()),
            hint,
            input: plain,
          }))}
        />
        <p class="hint">{children}</p>
      </div>
    </fieldset>
  );
}

/** All are offered, without a search. */
const fewChecks = 50;

function GateFields(part: Part) {
  const { fields, faults, change } = part;
  const [search, setSearch] = useState("");
  const ids = fields.checks.slice(0, 100);
  const { latest } = useRead("CheckReads/List", { ids, kind: "api", search });
  const checks = latest?.checks ?? [];
  const total = latest?.counts?.total.api ?? 0;
  if (total === 0) return null;
  const toggle = (id: string, isOn: boolean) =>
    change({ checks: isOn ? [...fields.checks, id] : fields.checks.filter((one) => one !== id) });
  return (
    <fieldset>
      <legend>Gate between waves</legend>
      {total > fewChecks && (
        <Field name="Find a check" fault={undefined}>
          <input
            type="search"
            value={search}
            maxLength={200}
            placeholder={`name or id, of ${count(total)} checks`}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </Field>
      )}
      {checks.map((check) => (
        <CheckTick
          key={check.id}
          check={check}
          fault={markOf("checks", faults)}
          isOn={fields.checks.includes(check.id)}
          toggle={(isOn) => toggle(check.id, isOn)}
        />
      ))}
      <Fault fault={faultOf("checks", faults)} />
      {fields.checks.length > 0 && <GateNumbers {...part} />}
    </fieldset>
  );
}

type TickProps = {
  check: CheckView;
  fault: ReturnType<typeof markOf>;
  isOn: boolean;
  toggle: (isOn: boolean) => void;
};

/** A gate with a check that is off would be refused; one that has been chosen already can be left out. */
function CheckTick({ check, fault, isOn, toggle }: TickProps) {
  const off = offWords(check);
  const isRefused = (check.missing_settings ?? []).length > 0;
  return (
    <label class="tick">
      <input
        {...fault}
        type="checkbox"
        checked={isOn}
        disabled={isRefused && !isOn}
        onChange={(event) => toggle(event.currentTarget.checked)}
      />
      {check.name}
      {off !== undefined && <span class="quiet">{off}</span>}
    </label>
  );
}

function GateNumbers(part: Part) {
  return (
    <div class="pair">
      <GateNumber {...part} of="cleanRuns" name="Clean runs of each" min={1} max={100} />
      <GateNumber
        {...part}
        of="timeoutSeconds"
        name="Pause after (seconds)"
        min={10}
        max={86_400}
      />
    </div>
  );
}

type NumberProps = Part & {
  of: "cleanRuns" | "timeoutSeconds";
  name: string;
  min: number;
  max: number;
};

function GateNumber({ fields, faults, change, of, name, min, max }: NumberProps) {
  return (
    <Field name={name} fault={faultOf(of, faults)}>
      <input
        {...markOf(of, faults)}
        type="number"
        min={min}
        max={max}
        value={fields[of]}
        onInput={(event) => change({ [of]: event.currentTarget.valueAsNumber })}
      />
    </Field>
  );
}
