/** Mute, acknowledge, maintenance: the same for API checks and heartbeats. Pure. */
import { ProblemError } from "#kernel/problem.ts";
import { toIso } from "#kernel/time.ts";
import type { OpenAlert, Quiet } from "#monitor/contract.ts";
import type { AlertState, MonitorProblemCode } from "#monitor/operations/contract.ts";
import { dropPast, muteForeverMs } from "#monitor/rules/quiet.ts";

/** `by`: the operator's name. */
type By = { by: string };

/** Mutes until `until`; undefined: for ever. Throws 400 `invalid_window` for a time in the past. */
export function mute(
  quiet: Quiet,
  { until, by }: By & { until?: string | undefined },
  nowMs: number,
): Quiet {
  const mutedUntilMs = until === undefined ? muteForeverMs : Date.parse(until);
  if (mutedUntilMs <= nowMs) throw refusal(400, "invalid_window", "until has to be in the future");
  return { ...dropPast(quiet, nowMs), mutedUntilMs, mutedBy: by };
}

type Window = By & { from: string; to: string; reason: string };

/** Adds a window. Throws 400 `invalid_window` if it is past or ends before it begins, or for too many. */
export function addMaintenance(quiet: Quiet, window: Window, nowMs: number): Quiet {
  const { from, to, reason, by } = window;
  const span = { fromMs: Date.parse(from), toMs: Date.parse(to), reason, by };
  if (span.toMs <= nowMs) throw refusal(400, "invalid_window", "to has to be in the future");
  if (span.toMs <= span.fromMs) throw refusal(400, "invalid_window", "to has to be after from");
  const current = dropPast(quiet, nowMs);
  if (current.maintenance.length >= maxWindows) {
    throw refusal(400, "invalid_window", `there are ${maxWindows} windows already`);
  }
  return { ...current, maintenance: [...current.maintenance, span] };
}

const maxWindows = 100;

export type Acknowledgement = { by: string; episode?: number | undefined };

/** The first to acknowledge stays. Throws 409 without an open alert, and for another than `episode` (an old page). */
export function acknowledge(
  alert: OpenAlert | null,
  { by, episode }: Acknowledgement,
  atMs: number,
): OpenAlert {
  if (alert === null) throw refusal(409, "no_alert", "no alert of this check is open");
  if (episode !== undefined && episode !== alert.episode) {
    const detail = `alert ${episode} is resolved; alert ${alert.episode} is open now: read that one first`;
    throw refusal(409, "other_alert", detail);
  }
  return { ...alert, acknowledged: alert.acknowledged ?? { by, atMs } };
}

export function describeAlertState(
  check: string,
  { quiet, alert }: { quiet: Quiet; alert: OpenAlert | null },
): AlertState {
  const { mutedUntilMs, mutedBy = null, maintenance } = quiet;
  return {
    check,
    muted_until: mutedUntilMs === null ? null : toIso(mutedUntilMs),
    muted_by: mutedBy,
    maintenance: maintenance.map(({ fromMs, toMs, reason, by }) => ({
      from: toIso(fromMs),
      to: toIso(toMs),
      reason,
      by,
    })),
    alert: alert && {
      episode: alert.episode,
      opened_at: toIso(alert.openedAtMs),
      reason: alert.reason,
      acknowledged_by: alert.acknowledged?.by ?? null,
    },
  };
}

export function refusal(status: number, code: MonitorProblemCode, detail: string): ProblemError {
  return new ProblemError<MonitorProblemCode>({ status, code, detail });
}

/** Maps the database error of a duplicate token to 409 `token_taken`; rethrows any other error. */
export function refuseTaken(error: unknown): never {
  // Postgres: unique_violation.
  if ((error as { code?: string }).code !== "23505") throw error;
  throw refusal(409, "token_taken", "another heartbeat or runner has this token");
}
