/** The sentinels that rollouts leave out. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { Waiting } from "#console/web/parts/blocks.tsx";
import {
  Entries,
  type FormPart,
  moment,
  plain,
  reason,
  required,
} from "#console/web/parts/form.tsx";
import { emptyPin, isOver, type PinFields, toPin, untilOf } from "#console/web/rows/pins.ts";
import { RowForm, type RowKind, RowPage, RowTable } from "#console/web/rows/rows.tsx";
import { localZone } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { whichOf } from "#kernel/words.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";

export function PinsPage() {
  const { data, error, reload } = useRead("RolloutPins/List", ofChosenFleet(), 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <RowPage
      title="Pins"
      about="Sentinels that rollouts leave out, until a time or until the pin is removed."
      error={error}
    >
      <PinTable pins={data.pins} reload={reload} />
      <RowForm kind={pin} reload={reload} />
    </RowPage>
  );
}

type Props = { pins: readonly ListedPin[]; reload: () => void };

function PinTable({ pins, reload }: Props) {
  return (
    <RowTable
      word="pin"
      title="Pinned sentinels"
      none="There are no pins: rollouts leave no sentinel out."
      rows={pins}
      columns={[
        { name: "Sentinels", isLong: true, of: whichOf },
        { name: "Holds", of: (pin) => <Holds pin={pin} /> },
      ]}
      removal={removalOf}
      reload={reload}
    />
  );
}

function Holds({ pin }: { pin: ListedPin }) {
  return (
    <span>
      {untilOf(pin)} {isOver(pin, Date.now()) && <span class="tag">over</span>}
    </span>
  );
}

function removalOf(pin: ListedPin) {
  return {
    title: `Remove the pin ${pin.id}?`,
    lines: [
      `It holds ${whichOf(pin)} ${untilOf(pin)}.`,
      "The next rollout takes these sentinels again, unless another pin holds them.",
      "A rollout in progress leaves out those that it has left out already.",
    ],
  };
}

const pin: RowKind<PinFields, ListedPin & { warnings: string[] }> = {
  word: "pin",
  about: "It holds for deploys that have not begun, and not for rollbacks.",
  empty: emptyPin,
  inputs: PinInputs,
  toRow: toPin,
  describe: (added) =>
    [`${whichOf(added)}, ${untilOf(added)}`, ...added.warnings].join(". Warning: "),
};

const endsHint = `Without it, it holds until it is removed. In your time zone, ${localZone()}.`;
const labelsHint =
  "Such as tier=canary; all of several. Of these three, it holds what matches each that is filled in.";

/** The fields of a new pin: what it is called and why it is there, and which sentinels it holds. */
function PinInputs(part: FormPart<PinFields>) {
  return (
    <div class="halves">
      <div class="form">
        <Entries
          part={part}
          entries={[
            { of: "id", name: "Name", hint: "Such as debug-gw-7.", input: required },
            { of: "reason", name: "Reason", hint: "Plans and histories have it.", input: reason },
            { of: "ends", name: "Ends", hint: endsHint, input: moment },
          ]}
        />
      </div>
      <fieldset>
        <legend>Sentinels</legend>
        <div class="form">
          <Entries
            part={part}
            entries={[
              { of: "ids", name: "By id", hint: "Such as gw-7, gw-8.", input: plain },
              {
                of: "regions",
                name: "By region",
                hint: "Such as eu-central-1, us-east-1.",
                input: plain,
              },
              { of: "labels", name: "By label", hint: labelsHint, input: plain },
            ]}
          />
        </div>
      </fieldset>
    </div>
  );
}
