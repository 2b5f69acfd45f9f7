/** The sentinels that a plan leaves out, by what leaves them out. */
import { count, sentinels } from "#console/web/format.ts";
import { namesOf } from "#console/web/pins/which.ts";
import { Link } from "#console/web/router.tsx";
import type { RolloutPlan } from "#rollout/contract.ts";
import { type Cause, causesOf } from "./left-out.ts";

/** So many ids are named of each cause. */
const mostIds = 10;

export function PlanLeftOut({ plan }: { plan: RolloutPlan }) {
  const { left_out_count: total } = plan;
  if (total === 0) return null;
  const { causes, unnamed } = causesOf(plan);
  return (
    <section class="left-out" aria-labelledby="left-out-title">
      <h3 id="left-out-title">Left out: {sentinels(total)}</h3>
      <ul class="plain-list">
        {causes.map((cause) => (
          <li key={`${cause.pin ?? ""} ${cause.reason}`}>
            <By {...cause} />
            <span class="mono quiet">{namesOf(cause.ids, mostIds)}</span>
          </li>
        ))}
        {unnamed > 0 && <li class="quiet">and {count(unnamed)} more</li>}
      </ul>
    </section>
  );
}

function By({ pin, reason }: Cause) {
  const why = reason === "" ? "" : `: ${reason}`;
  if (pin === null) return <span>by this request{why}</span>;
  return (
    <span>
      by the pin <Link to="/pins">{pin}</Link>
      {why}
    </span>
  );
}
