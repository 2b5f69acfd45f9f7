/** Failures grouped by reason: one bad image is one line, however many sentinels failed. */

import { count } from "#console/web/format.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";

export function Failures({ failures }: { failures: RolloutDetail["failures"] }) {
  if (failures.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="failures-title">
      <header class="panel-head">
        <h2 id="failures-title">Failures</h2>
      </header>
      {failures.map(({ code, count: hit, ids }) => (
        <div class="failure" key={code}>
          <span>
            <b class="bad-text">{count(hit)} ×</b> {code.replaceAll("_", " ")}
          </span>
          <span class="mono quiet">
            {ids.join(", ")}
            {hit > ids.length && ` and ${count(hit - ids.length)} more`}
          </span>
        </div>
      ))}
    </section>
  );
}
