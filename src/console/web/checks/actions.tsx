/** The operations on a check; each confirmation says what the operation does. */
import { useState } from "preact/hooks";
import { send } from "#console/web/api.ts";
import { ms, quietEnd } from "#console/web/format.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { ask } from "#console/web/parts/confirm.tsx";
import type { Tone } from "#console/web/parts/mark.tsx";
import { session } from "#console/web/session.ts";
import { when } from "#console/web/times.ts";
import type {
  AlertState,
  OperatorHandlerName,
  RunNowAnswer,
} from "#monitor/operations/contract.ts";
import type { CheckView } from "#monitor/results/contract.ts";

export const checkTones: Record<CheckView["status"], Tone> = {
  ok: "good",
  degraded: "warn",
  failed: "bad",
  late: "warn",
  silent: "calm",
  paused: "mute",
  pending: "mute",
};

type Props = { check: CheckView; reload: () => void };

const hourMs = 3_600_000;

/** Sends an operation on a check; the names of the services are those of its kinds. */
function operate(
  { id, kind }: CheckView,
  operation: OperatorHandlerName,
  body: object,
): Promise<AlertState> {
  return send(`${kind === "api" ? "ApiCheck" : "Heartbeat"}/${id}/${operation}`, body);
}

export function CheckActions({ check, reload }: Props) {
  const { name, alert, quiet_until: quietUntil } = check;
  const mute = () =>
    ask({
      title: `Mute ${name} for two hours?`,
      lines: [
        "It opens no alert until then, and pages nobody.",
        "An open alert stays open and still resolves by itself.",
      ],
      verb: "Mute for 2 hours",
      isGrave: false,
      run: async () => {
        await operate(check, "Mute", { until: new Date(Date.now() + 2 * hourMs).toISOString() });
        reload();
      },
    });
  const unmute = () =>
    ask({
      title: `Unmute ${name}?`,
      lines: [
        `It is quiet until ${quietUntil === null ? "" : quietEnd(quietUntil)}.`,
        "If a maintenance window has started, this ends all windows, future ones included.",
      ],
      verb: "Unmute",
      isGrave: false,
      run: async () => {
        const { maintenance } = await operate(check, "Unmute", {});
        const hasStarted = maintenance.some(({ from }) => Date.parse(from) <= Date.now());
        if (hasStarted) await operate(check, "EndMaintenance", {});
        reload();
      },
    });
  const acknowledge = () =>
    ask({
      title: `Acknowledge the alert of ${name}?`,
      lines: ["The alert shows your name. Nobody is notified."],
      verb: "Acknowledge",
      isGrave: false,
      run: async () => {
        const by = session.value?.actor;
        await operate(check, "Acknowledge", { by, episode: alert?.episode });
        reload();
      },
    });
  return (
    <div class="row">
      {alert !== null && alert.acknowledged_by === null && (
        <button type="button" class="main" onClick={acknowledge}>
          Acknowledge…
        </button>
      )}
      {quietUntil === null ? (
        <button type="button" onClick={mute}>
          Mute…
        </button>
      ) : (
        <button type="button" onClick={unmute}>
          Unmute…
        </button>
      )}
    </div>
  );
}

/** The form of a maintenance window that starts now. */
export function MaintenanceForm({ check, reload }: Props) {
  const [minutes, setMinutes] = useState("30");
  const [reason, setReason] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const from = new Date();
    const to = new Date(from.getTime() + Number(minutes) * 60_000);
    ask({
      title: `Maintenance for ${check.name} until ${when(to.toISOString())}?`,
      lines: ["It opens no alert in that time.", `Reason: ${reason.trim()}`],
      verb: "Start maintenance",
      isGrave: false,
      run: async () => {
        const window = { from: from.toISOString(), to: to.toISOString(), reason: reason.trim() };
        await operate(check, "Maintenance", window);
        setReason("");
        reload();
      },
    });
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      <label>
        <span class="label">Minutes</span>
        <input
          type="number"
          min="1"
          max="10080"
          required
          value={minutes}
          onInput={(event) => setMinutes(event.currentTarget.value)}
        />
      </label>
      <label class="grow">
        <span class="label">Reason</span>
        <input
          required
          maxLength={500}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Start maintenance…</button>
    </form>
  );
}

/** Runs an API check now, without alerting and without recording the result. */
export function RunNow({ check }: { check: CheckView }) {
  const [run, setRun] = useState<RunNowAnswer | string>();
  const [isBusy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      setRun(await send<RunNowAnswer>(`ApiCheck/${check.id}/Run`, {}));
    } catch (error) {
      setRun((error as Error).message);
    }
    setBusy(false);
  };
  return (
    <div class="run-now">
      <button type="button" class="small" disabled={isBusy} onClick={() => void go()}>
        {isBusy ? "Running…" : "Run now"}
      </button>
      <div aria-live="polite">{run !== undefined && <RunResult run={run} />}</div>
    </div>
  );
}

function RunResult({ run }: { run: RunNowAnswer | string }) {
  if (typeof run === "string") return <Notice tone="warn">{run}</Notice>;
  return (
    <Notice tone={checkTones[run.grade]}>
      {`${run.location}: ${run.grade} in ${ms(run.duration_ms)}`}
      {run.status !== null && `, status ${run.status}`}
      {run.reason !== null && `. ${run.reason}`}
    </Notice>
  );
}
