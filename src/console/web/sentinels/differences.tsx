/** What was ordered and is not what runs, over the whole fleet. */
import { count } from "#console/web/format.ts";
import { Image } from "#console/web/parts/image.tsx";
import type { FleetOverview } from "#fleet/overview/contract.ts";

type Difference = FleetOverview["differences"][number];

export function Differences({ differences }: Pick<FleetOverview, "differences">) {
  if (differences.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="differences-title">
      <header class="panel-head">
        <h2 id="differences-title">Ordered, and not what runs</h2>
      </header>
      <div class="scroll">
        <table class="cards short-images">
          <thead>
            <tr>
              <th>Ordered</th>
              <th>Runs</th>
              <th class="number">Deploying</th>
              <th class="number">Failed</th>
              <th class="number">Neither</th>
            </tr>
          </thead>
          <tbody>
            {differences.map((difference) => (
              <Row key={`${difference.ordered} ${difference.running}`} difference={difference} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ difference }: { difference: Difference }) {
  const { ordered, running, deploying, failed, differs } = difference;
  return (
    <tr>
      <td data-name="Ordered">
        <Image image={ordered} />
      </td>
      <td data-name="Runs">
        <Image image={running} />
      </td>
      <td data-name="Deploying" class="number">
        {count(deploying)}
      </td>
      <td data-name="Failed" class="number">
        {failed === 0 ? "0" : <b class="bad-text">{count(failed)}</b>}
      </td>
      <td data-name="Neither" class="number">
        {count(differs)}
      </td>
    </tr>
  );
}
