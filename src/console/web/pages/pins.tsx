/** The sentinels that rollouts leave out. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { PinForm } from "#console/web/pins/pin-form.tsx";
import { isOver, untilOf } from "#console/web/pins/which.ts";
import { ForOperators } from "#console/web/rows/for-operators.tsx";
import { RowTable } from "#console/web/rows/row-table.tsx";
import { useRead } from "#console/web/use-read.ts";
import { whichOf } from "#kernel/selector-words.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";

export function PinsPage() {
  const { data, error, reload } = useRead("RolloutPins/List", ofChosenFleet(), 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Pins</h1>
          <p>Sentinels that rollouts leave out, until a time or until the pin is removed.</p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <div class="sides">
        <PinTable pins={data.pins} reload={reload} />
        <ForOperators>
          <PinForm reload={reload} />
        </ForOperators>
      </div>
    </>
  );
}

type Props = { pins: readonly ListedPin[]; reload: () => void };

/** The pins, each with a button that removes it. */
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
