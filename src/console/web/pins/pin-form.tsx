/** The form of a new pin. */

import { localZone } from "#console/web/local-time.ts";
import { type FormPart, TextField } from "#console/web/parts/text-field.tsx";
import { RowForm, type RowKind } from "#console/web/rows/row-form.tsx";
import { whichOf } from "#kernel/selector-words.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";
import { type PinFields, pinPaths, toPin } from "./request.ts";
import { untilOf } from "./which.ts";

const pin: RowKind<PinFields, ListedPin & { warnings: string[] }> = {
  word: "pin",
  about: "It holds for deploys that have not begun, and not for rollbacks.",
  empty: { id: "", ids: "", regions: "", labels: "", ends: "", reason: "" },
  paths: pinPaths,
  inputs: PinInputs,
  toRow: toPin,
  describe: (added) =>
    [`${whichOf(added)}, ${untilOf(added)}`, ...added.warnings].join(". Warning: "),
};

export function PinForm({ reload }: { reload: () => void }) {
  return <RowForm kind={pin} reload={reload} />;
}

/** The fields of a new pin: what it is called and why it is there, and which sentinels it holds. */
function PinInputs(part: FormPart<PinFields>) {
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
