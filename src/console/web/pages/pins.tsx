/** The sentinels that rollouts leave out. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { PinForm } from "#console/web/pins/pin-form.tsx";
import { PinTable } from "#console/web/pins/pin-table.tsx";
import { ForOperators } from "#console/web/rows/for-operators.tsx";
import { useRead } from "#console/web/use-read.ts";

export function PinsPage() {
  const { data, error, reload } = useRead("pins", ofChosenFleet(), 10_000);
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
