import { count, duration, sentinels } from "#console/web/format.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Link } from "#console/web/router.tsx";
import { someOf } from "#kernel/text.ts";
import type { RolloutPlan } from "#rollout/contract.ts";
import { PlanEvidence } from "./evidence.tsx";
import { failureWords } from "./start-question.ts";
import { type Cause, causesOf, percentWords, startWords } from "./words.ts";

export function PlanTable({ plan }: { plan: RolloutPlan }) {
  return (
    <>
      <p>
        {sentinels(plan.total)} get <Image image={plan.image} />
        {plan.already_running > 0 && ` · ${count(plan.already_running)} run it already`}
      </p>
      <PlanEvidence plan={plan} />
      <Hindrances plan={plan} />
      {plan.warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      <ul class="plain-list">
        {[...plan.notes, failureWords(plan)].map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      <PlanLeftOut plan={plan} />
      <ol class="waves plan">
        {plan.waves.map((wave) => (
          <li class="wave" key={wave.wave}>
            <span class="wave-name">
              <b>Wave {wave.wave}</b> <span class="quiet">{percentWords(wave, plan.waves)}</span>
            </span>
            <span class="track" aria-hidden="true">
              <i class="b-mute" style={{ width: share(wave.covered - wave.size, plan.total) }} />
              <i class="b-info" style={{ width: share(wave.size, plan.total) }} />
            </span>
            <span class="wave-count">{sentinels(wave.size)}</span>
            <span class="regions quiet">
              {[
                regionWords(wave.regions),
                startWords(wave, Date.now()),
                wave.needs_approval && "needs an approval",
                soakWords(wave),
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** Rollout refuses the image while there are any. */
function Hindrances({ plan: { hindrances = [] } }: { plan: RolloutPlan }) {
  if (hindrances.length === 0) return null;
  return (
    <Notice tone="warn">
      <b>Other fleets take this image first</b>: {hindrances.join("; ")}.
    </Notice>
  );
}

function soakWords({ soak_seconds: soak }: RolloutPlan["waves"][number]): string {
  return soak > 0 ? `then watched for ${duration(soak)}` : "";
}

function share(part: number, total: number): string {
  return `${(part * 100) / Math.max(1, total)}%`;
}

function regionWords(regions: Record<string, number>): string {
  return Object.entries(regions)
    .map(([name, size]) => `${name} ${count(size)}`)
    .join(" · ");
}

/** The number of ids that are named of each cause. */
const mostIds = 10;

/** The sentinels that a plan leaves out, by what leaves them out. */
function PlanLeftOut({ plan }: { plan: RolloutPlan }) {
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
            <span class="mono quiet">{someOf(cause.ids, mostIds)}</span>
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
