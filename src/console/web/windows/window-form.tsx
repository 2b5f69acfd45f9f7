/** The form of a new window. */
import { localZone } from "#console/web/local-time.ts";
import type { FormPart } from "#console/web/parts/text-field.tsx";
import { RowForm, type RowKind } from "#console/web/rows/row-form.tsx";
import type { ListedWindow } from "#rollout/windows/contract.ts";
import { toWindow, type WindowFields, windowPaths } from "./request.ts";
import { whenOf } from "./when.ts";
import { BoundFields, DailyFields } from "./when-fields.tsx";
import { WhyFields } from "./why-fields.tsx";

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
