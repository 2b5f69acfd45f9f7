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
        <ExclusionFields {...part} />
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
        hint="Such as eu-central-1, us-east-1: one after the other, all others last."
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

const exclusions = [
  { of: "excludeIds", name: "By id", hint: "Such as gw-7, gw-8." },
  { of: "excludeRegions", name: "By region", hint: "Such as eu-central-1." },
  { of: "excludeLabels", name: "By label", hint: "Such as kernel=5; all of several." },
] as const;

function ExclusionFields(part: Part) {
  return (
    <fieldset>
      <legend>Exclude</legend>
      <div class="form">
        {exclusions.map((field) => (
          <TextField key={field.of} part={part} {...field} input={plain} />
        ))}
        <p class="hint">
          One exclusion: what matches each of these that is filled in. For several use the command
          line, or pins, which hold for every rollout.
        </p>
      </div>
    </fieldset>
  );
}
