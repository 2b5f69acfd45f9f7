/** The windows, each with a button that removes it. */
import { RowTable } from "#console/web/rows/row-table.tsx";
import type { ListedWindow } from "#rollout/windows/contract.ts";
import { whenOf } from "./when.ts";

type Props = { windows: readonly ListedWindow[]; reload: () => void };

export function WindowTable({ windows, reload }: Props) {
  return (
    <RowTable
      word="window"
      title="Allowed windows and freezes"
      none="There are no windows: waves start at any time."
      rows={windows}
      columns={[
        { name: "Kind", of: (window) => <Kind window={window} /> },
        { name: "When", of: whenOf },
      ]}
      removal={(window) => removalOf(window, windows)}
      reload={reload}
    />
  );
}

function Kind({ window: { kind, ends } }: { window: ListedWindow }) {
  const isOver = ends !== undefined && Date.parse(ends) <= Date.now();
  return (
    <span>
      <span class={`tag t-${kind === "freeze" ? "warn" : "good"}`}>{kind}</span>{" "}
      {isOver && <span class="tag">over</span>}
    </span>
  );
}

function removalOf({ id, kind, ...times }: ListedWindow, windows: readonly ListedWindow[]) {
  const isLast = windows.filter((one) => one.kind === kind).length === 1;
  const then = {
    freeze: "Waves may start in that time, unless another window keeps them from it.",
    allowed: isLast
      ? "It is the only allowed window: waves then start at any time, except in freezes."
      : "Waves then start only in the other allowed windows.",
  };
  return {
    title: `Remove the ${kind === "freeze" ? "freeze" : "allowed window"} ${id}?`,
    lines: [
      `It is: ${whenOf(times)}.`,
      then[kind],
      "A rollout that waits for a window looks again at once, and its history keeps the reason.",
    ],
  };
}
