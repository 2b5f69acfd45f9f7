/** The pins, each with a button that removes it. */
import { RowTable } from "#console/web/rows/row-table.tsx";
import { whichOf } from "#kernel/selector-words.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";
import { isOver, untilOf } from "./which.ts";

type Props = { pins: readonly ListedPin[]; reload: () => void };

export function PinTable({ pins, reload }: Props) {
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
