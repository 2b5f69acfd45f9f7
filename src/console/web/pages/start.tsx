/** A new rollout: first its plan, then its start. */
import { useEffect, useRef, useState } from "preact/hooks";
import { order, read } from "#console/web/api.ts";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { rollout } from "#console/web/live.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { ask, type Question } from "#console/web/parts/confirm.tsx";
import { type Faults, faultsOf, noFaults } from "#console/web/parts/fields.ts";
import { PlanTable } from "#console/web/rollout/plan.tsx";
import {
  emptyFields,
  refusalOfLabels,
  type StartFields,
  startPaths,
  toRequest,
} from "#console/web/rollout/request.ts";
import { StartForm } from "#console/web/rollout/start-form.tsx";
import { type PlannedRollout, startWordsOf } from "#console/web/rollout/start-question.ts";
import { go } from "#console/web/router.tsx";

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
