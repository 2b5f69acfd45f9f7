/** The fields of a new rollout about which sentinels it takes, and in which order; folded, as most need none. */
import { type FormPart, TextField } from "#console/web/parts/text-field.tsx";
import { countFilled } from "./choice.ts";
import type { StartFields } from "./request.ts";

type Part = FormPart<StartFields>;

const plain = { spellcheck: false };

export function ChoiceFields(part: Part) {
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
        <OrderFields {...part} />
        <LimitFields {...part} />
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

function OrderFields(part: Part) {
  return (
    <>
      <TextField
        part={part}
        of="canaries"
        name="Canaries"
        hint="By label, such as tier=canary; all of several. These sentinels come first."
        input={plain}
      />
      <TextField
        part={part}
        of="regions"
        name="Order of regions"
        hint="An order, not a choice: such as eu-central-1, us-east-1, then all others."
        input={plain}
      />
    </>
  );
}

function LimitFields(part: Part) {
  return (
    <div class="pair">
      <TextField
        part={part}
        of="maxPerRegion"
        name="Cap per region"
        hint="In one wave: a count, or a percentage of the region such as 25%. A larger wave becomes several."
      />
      <TextField
        part={part}
        of="maxUnavailable"
        name="Unavailable at most"
        hint="Unhealthy, failed or in flight at one time: a count, or a percentage of the fleet such as 10%."
      />
    </div>
  );
}

const selectors = [
  { field: "Ids", name: "By id", hint: "Such as gw-7, gw-8." },
  { field: "Regions", name: "By region", hint: "Such as eu-central-1." },
  { field: "Labels", name: "By label", hint: "Such as kernel=5; all of several." },
] as const;

type Selectors = { part: Part; of: "only" | "exclude"; legend: string; children: string };

function SelectorFields({ part, of, legend, children }: Selectors) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="form">
        {selectors.map(({ field, name, hint }) => (
          <TextField
            key={field}
            part={part}
            of={`${of}${field}`}
            name={of === "only" ? `Only these ${field.toLowerCase()}` : name}
            hint={hint}
            input={plain}
          />
        ))}
        <p class="hint">{children}</p>
      </div>
    </fieldset>
  );
}
