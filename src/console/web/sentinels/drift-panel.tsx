/** The sentinels that run another image than the desired one; nothing while there are none. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { ago, count, sentinels } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Panel, Table } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { DriftedSentinel } from "#fleet/drift-contract.ts";
import { callerWords } from "#kernel/words.ts";

/** `vedette fleet drift` lists them all. */
const mostRows = 20;

export function DriftPanel() {
  const { data } = useRead("FleetService/Drift", ofChosenFleet(), 15_000);
  if (data === undefined || data.total === 0) return null;
  const { total, held, on_drift: onDrift } = data;
  const follows = onDrift === "converge" ? "brought back by rollouts" : "only reported";
  const note = `${sentinels(total)}, ${count(held)} held; ${follows} (fleet.on_drift)`;
  return (
    <Panel title="Drifted from the desired image" note={note}>
      <Table class="short-images" names={["Sentinel", "Runs", "Desired", "Why", "Since", "Held"]}>
        {data.sentinels.slice(0, mostRows).map((one) => (
          <Row key={one.id} sentinel={one} />
        ))}
      </Table>
    </Panel>
  );
}

function Row({ sentinel }: { sentinel: DriftedSentinel }) {
  const { id, running_image: running, desired_image: desired, why, since, held } = sentinel;
  return (
    <tr>
      <td data-name="Sentinel">{id}</td>
      <td data-name="Runs">{running === "" ? "nothing" : <Image image={running} />}</td>
      <td data-name="Desired">
        <Image image={desired} />
      </td>
      <td data-name="Why">{why}</td>
      <td data-name="Since">{ago(since, nowMs.value)}</td>
      <td data-name="Held">{held && `${held.reason} (${held.pin}, ${callerWords(held.by)})`}</td>
    </tr>
  );
}
