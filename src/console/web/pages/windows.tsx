/** When the waves of rollouts may start, and when they must not. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { inWords } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { ForOperators } from "#console/web/rows/for-operators.tsx";
import { useRead } from "#console/web/use-read.ts";
import { WindowForm } from "#console/web/windows/window-form.tsx";
import { WindowTable } from "#console/web/windows/window-table.tsx";
import type { Opening } from "#rollout/windows/contract.ts";

export function WindowsPage() {
  const { data, error, reload } = useRead("windows", ofChosenFleet(), 10_000);
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
