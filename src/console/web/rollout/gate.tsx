/** The state of the gate between two waves, check by check. */
import { duration, ms } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import type { GateStatus } from "#rollout/policy/contract.ts";

export function GatePanel({ gate, isOpen }: { gate: GateStatus; isOpen: boolean }) {
  const left = (Date.parse(gate.until) - nowMs.value) / 1_000;
  return (
    <section class="panel gate" aria-labelledby="gate-title">
      <header class="panel-head">
        <h2 id="gate-title">Gate after wave {gate.wave}</h2>
        <span class="quiet">
          closed since <Time iso={gate.since} />
          {isOpen && left > 0 && ` · pauses in ${duration(left)}`}
        </span>
      </header>
      <ul>
        {gate.checks.map((check) => (
          <li key={check.check}>
            <Link to={`/checks/${check.check}`}>{check.check}</Link>
            <CleanRuns {...check} />
            {check.failed_run !== null && (
              <span class="reason">
                Failed at {check.failed_run.location}, <Time iso={check.failed_run.at} />:{" "}
                {check.failed_run.reason} ({ms(check.failed_run.duration_ms)})
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function CleanRuns({ clean_runs, wanted_runs }: GateStatus["checks"][number]) {
  const shown = Math.min(wanted_runs, 20);
  return (
    <span>
      <span class="dots" aria-hidden="true">
        {Array.from({ length: shown }, (_, index) => (
          <i key={index} class={index < clean_runs ? "on" : ""} />
        ))}
      </span>{" "}
      {Math.min(clean_runs, wanted_runs)} of {wanted_runs} clean runs
    </span>
  );
}
