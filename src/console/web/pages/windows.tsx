/** When the waves of rollouts may start, and when they must not. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { inWords } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { ForOperators } from "#console/web/rows/for-operators.tsx";
import { RowTable } from "#console/web/rows/row-table.tsx";
import { useRead } from "#console/web/use-read.ts";
import { whenOf } from "#console/web/windows/when.ts";
import { WindowForm } from "#console/web/windows/window-form.tsx";
import type { ListedWindow, Opening } from "#rollout/windows/contract.ts";

export function WindowsPage() {
  const { data, error, reload } = useRead("RolloutWindows/List", ofChosenFleet(), 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Windows</h1>
          <p>When the waves of rollouts may start, and when they must not.</p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <Now now={data.now} />
      <div class="sides">
        <WindowTable windows={data.windows} reload={reload} />
        <ForOperators>
          <WindowForm reload={reload} />
        </ForOperators>
      </div>
    </>
  );
}

function next(until: string) {
  return (
    <>
      The next one may start {inWords(until, nowMs.value)}, <Time iso={until} />.
    </>
  );
}

function Now({ now: { is_open: isOpen, reason, until } }: { now: Opening }) {
  if (isOpen) return <Notice tone="good">A wave may start now.</Notice>;
  return (
    <Notice tone="warn">
      <b>No wave may start now</b>: {reason}.{" "}
      {until === undefined ? "By these windows none may start within a year." : next(until)}
    </Notice>
  );
}

type Props = { windows: readonly ListedWindow[]; reload: () => void };

/** The windows, each with a button that removes it. */
function WindowTable({ windows, reload }: Props) {
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
