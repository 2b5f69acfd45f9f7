/** The form of a new pin. */
import { RowForm, type RowKind } from "#console/web/rows/row-form.tsx";
import { whichOf } from "#kernel/selector-words.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";
import { PinInputs } from "./pin-inputs.tsx";
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
