/** A new rollout: first its plan, then its start. */
import { useEffect, useRef, useState } from "preact/hooks";
import { order, read } from "#console/web/api.ts";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { count, duration, sentinels } from "#console/web/format.ts";
import { rollout } from "#console/web/live.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { ask, type Question } from "#console/web/parts/confirm.tsx";
import { type Faults, faultsOf, noFaults } from "#console/web/parts/fields.ts";
import { Image } from "#console/web/parts/image.tsx";
import { PlanEvidence } from "#console/web/rollout/evidence.tsx";
import {
  emptyFields,
  refusalOfLabels,
  type StartFields,
  startPaths,
  toRequest,
} from "#console/web/rollout/request.ts";
import { StartForm } from "#console/web/rollout/start-form.tsx";
import {
  failureWords,
  type PlannedRollout,
  startWordsOf,
} from "#console/web/rollout/start-question.ts";
import { type Cause, causesOf, percentWords, startWords } from "#console/web/rollout/words.ts";
import { go, Link } from "#console/web/router.tsx";
import { someOf } from "#kernel/text.ts";
import type { RolloutPlan } from "#rollout/contract.ts";

export function StartPage() {
  const [fields, setFields] = useState(emptyFields);
  const [planned, setPlanned] = useState<PlannedRollout>();
  const [faults, setFaults] = useState<Faults<keyof StartFields>>(noFaults);
  // A plan that arrives late is not shown beside fields that have changed since.
  const asked = useRef(0);
  const change = (part: Partial<StartFields>) => {
    asked.current += 1;
    setFields({ ...fields, ...part });
    setPlanned(undefined);
  };
  const show = async () => {
    setFaults(noFaults);
    const request = toRequest(fields);
    asked.current += 1;
    const { current: number } = asked;
    const refusal = refusalOfLabels(fields);
    if (refusal !== undefined) return setFaults(faultsOf(refusal, startPaths));
    try {
      const plan = await read("SentinelRolloutService/Plan", request);
      if (number === asked.current) setPlanned({ request, plan });
    } catch (problem) {
      if (number !== asked.current) return;
      setPlanned(undefined);
      setFaults(faultsOf((problem as Error).message, startPaths));
    }
  };
  const isLegal = rollout.value?.legal.includes("Rollout") ?? false;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>New rollout</h1>
          <p>Nothing changes until you have seen the plan and confirmed it.</p>
        </div>
      </div>
      {!may("operate") && (
        <Notice tone="info">You may see a plan here, but not start it: that takes operate.</Notice>
      )}
      {may("operate") && !mayRollOut(chosenFleet.value) && (
        <Notice tone="info">
          You may see a plan here, but not start it: the settings name other operators of this
          fleet.
        </Notice>
      )}
      {rollout.value !== undefined && !isLegal && (
        <Notice tone="warn">A rollout has not ended yet. Another one can start when it has.</Notice>
      )}
      <div class="columns planning">
        <section class="panel">
          <StartForm fields={fields} change={change} faults={faults} show={() => void show()} />
        </section>
        <section class="panel" aria-labelledby="plan-title" aria-live="polite">
          <header class="panel-head">
            <h2 id="plan-title">Plan</h2>
          </header>
          {planned === undefined ? (
            <p class="quiet">The plan shows the waves as they would run.</p>
          ) : (
            <Plan planned={planned} isLegal={isLegal} />
          )}
        </section>
      </div>
    </>
  );
}

function Plan({ planned, isLegal }: { planned: PlannedRollout; isLegal: boolean }) {
  const [button, setButton] = useState<HTMLButtonElement | null>(null);
  useEffect(() => button?.focus(), [button]);
  const isHindered = (planned.plan.hindrances ?? []).length > 0;
  const isProven = (planned.plan.ci ?? []).every(({ passes }) => passes);
  return (
    <>
      <PlanTable plan={planned.plan} />
      {mayRollOut(chosenFleet.value) && (
        <div class="row end start-row">
          <button
            ref={setButton}
            type="button"
            class="main"
            disabled={!isLegal || !isProven || isHindered}
            onClick={() => ask(startQuestion(planned))}
          >
            Start this rollout…
          </button>
        </div>
      )}
    </>
  );
}

function startQuestion(planned: PlannedRollout): Question {
  const seen = rollout.value?.status;
  const run = async () => {
    await order("Rollout", seen, planned.request);
    go("/");
  };
  return { ...startWordsOf(planned, Date.now()), run };
}

function PlanTable({ plan }: { plan: RolloutPlan }) {
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
