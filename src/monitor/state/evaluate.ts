/** Decides the rows of one transaction by the pure functions, with what an alert that opens has to know. */
import type { RolloutMark } from "#alerts/contract.ts";
import type { Blame } from "#blame/contract.ts";
import { inTime } from "#kernel/async.ts";
import type { Queries } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { HeldPings } from "#monitor/heartbeat/inbox.ts";
import type { Report } from "#monitor/internal.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import type { Absences } from "#monitor/rules/absences.ts";
import { newHeartbeatState } from "#monitor/rules/deadline.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import { endAlert, recordSuppression, removed } from "./alerting.ts";
import { type CheckSettings, dependencyOfCheck, evaluateCheck } from "./evaluate-check.ts";
import { dependencyOfHeartbeat, evaluateHeartbeat } from "./evaluate-heartbeat.ts";
import {
  type Decided,
  type Effects,
  type Moment,
  newApiRow,
  newEffects,
  newHeartbeatRow,
  type Row,
} from "./row.ts";
import { type ById, type Change, type DependencyRow, readOthers, type Stored } from "./rows.ts";
import { nameSuspects } from "./suspects.ts";

export type EvaluateParts = {
  whyOff: WhyOff;
  /** The rollout in progress, or one that ended a moment ago; null: none. */
  readRollout: () => Promise<RolloutMark | null>;
  /** Ranks the changes until then. */
  readBlame: (nowMs: number) => Promise<Blame>;
  settings: Omit<CheckSettings, "further">;
  log: Log;
};

/** Changes a row as an operator wants it. Pure: it may be called again, with other effects. Throws a refusal. */
export type ChangeRow = (row: Row, at: ChangeContext) => Row;

/** `isDefined`: false for a row of what was removed. */
type ChangeContext = Pick<Moment, "nowMs" | "effects"> & { isDefined: boolean };

export type Input = { id: string; report?: Report; change?: ChangeRow };

/** The facts that the decisions of one transaction share. */
export type Known = {
  definitions: ById;
  inputs: ReadonlyMap<string, readonly Input[]>;
  nowMs: number;
  pings: ReadonlyMap<string, HeldPings>;
  absences: Absences | null;
  further: readonly string[];
  rollout: RolloutMark | null | undefined;
  /** Read with the rollout; null: not read, or not in time. */
  blame: Blame | null;
  /** Rows that those of the group depend on, by id; null: there is none. */
  others: Map<string, DependencyRow | null>;
};

export type Outcome = Change & {
  effects: Effects;
  refused: Map<Input, unknown>;
  /** True if it could not be decided: its pings have to wait on. */
  isFailed?: true;
};

/** A rollout, changes, or the state of a check that others depend on are read only if an alert would open. */
const rolloutLimitMs = 2_000;

/** An alert is more important than its cause. */
const blameLimitMs = 1_000;

type Evaluation = { parts: EvaluateParts; rows: readonly Stored[]; known: Known };

/** Decides all rows; those that would alert again, once what that needs is read. */
export async function evaluateAll(tx: Queries, { parts, rows, known }: Evaluation) {
  while (true) {
    const wanted = new Set<string>();
    const outcomes = rows.map((stored) => evaluateOne(stored, { parts, known, wanted }));
    const opens = outcomes.some(({ effects }) =>
      effects.transitions.some(({ kind }) => kind === "opened"),
    );
    if (wanted.size > 0) {
      const others = await readOthers(tx, [...wanted]);
      for (const id of wanted) known.others.set(id, others.get(id) ?? null);
    } else if (opens && known.rollout === undefined) {
      const readBlame = () => parts.readBlame(known.nowMs);
      [known.rollout, known.blame] = await Promise.all([
        inTime(parts.readRollout, { limitMs: rolloutLimitMs, otherwise: null }),
        inTime(readBlame, { limitMs: blameLimitMs, otherwise: null }),
      ]);
    } else {
      const named = outcomes.map((outcome) => nameSuspects(outcome, known));
      return { outcomes: named, effects: merge(named.map(({ effects }) => effects)) };
    }
  }
}

function merge(all: readonly Effects[]): Effects {
  const merged = newEffects();
  for (const effects of all) {
    for (const key of Object.keys(merged) as (keyof Effects)[]) {
      (merged[key] as unknown[]).push(...effects[key]);
    }
  }
  return merged;
}

const shortestMs = 50;

type Deciding = { parts: EvaluateParts; known: Known; wanted: Set<string> };

/** A row that cannot be decided is left as it is and tried again in a minute: it must not hold up the others. */
function evaluateOne(stored: Stored, { parts, known, wanted }: Deciding): Outcome {
  const { id } = stored;
  const effects = newEffects();
  const refused = new Map<Input, unknown>();
  const moment: Moment = {
    nowMs: known.nowMs,
    rollout: known.rollout,
    dependencyOf: (other, sinceMs) => dependencyOf(other, sinceMs, { known, wanted }),
    effects,
  };
  const inputs = known.inputs.get(id) ?? [];
  const { apiChecks, heartbeats } = known.definitions;
  if (!parts.settings.runsHere && !apiChecks.has(id) && !heartbeats.has(id)) {
    // The worker, which is replaced first, may know a row that this process does not: it decides.
    const decided = { row: stored.row, wakeAtMs: stored.wakeAtMs };
    return { id, before: stored, decided, effects, refused, isFailed: true };
  }
  try {
    const isDefined = apiChecks.has(id) || heartbeats.has(id);
    const row = applyChanges(ofKind(stored, known.definitions, moment), {
      inputs,
      refused,
      at: { ...moment, isDefined },
    });
    const decided = evaluate(id, row, { parts, known, moment, inputs });
    // Never due again at once: a row must not keep a worker busy.
    const wakeAtMs = decided.wakeAtMs && Math.max(decided.wakeAtMs, known.nowMs + shortestMs);
    return { id, before: stored, decided: { row: decided.row, wakeAtMs }, effects, refused };
  } catch (error) {
    parts.log.error({ check: id, err: error }, "check not decided");
    const decided = { row: stored.row, wakeAtMs: known.nowMs + 60_000 };
    return { id, before: stored, decided, effects: newEffects(), refused, isFailed: true };
  }
}

type Changes = { inputs: readonly Input[]; refused: Map<Input, unknown>; at: ChangeContext };

function applyChanges(before: Row, { inputs, refused, at }: Changes): Row {
  let row = before;
  for (const input of inputs) {
    if (input.change === undefined) continue;
    try {
      row = input.change(row, at);
    } catch (error) {
      refused.set(input, error);
    }
  }
  return row;
}

/** The row, or a new one of the other kind if the check became a heartbeat or the reverse. Episodes count on. */
function ofKind({ id, row }: Stored, { apiChecks, heartbeats }: ById, moment: Moment): Row {
  const isOther = row.kind === "api" ? heartbeats.has(id) : apiChecks.has(id);
  if (!isOther) return row;
  const { state, quiet } = endAlert(row, { id, endedBecause: removed }, moment);
  recordSuppression({ ...newHeartbeatRow(), recorded: row.recorded }, id, moment);
  const episodes = state?.episodes ?? 0;
  if (row.kind === "heartbeat") {
    const made = newApiRow(moment.nowMs);
    return { ...made, quiet, state: { ...made.state, episodes } };
  }
  const paused = { ...newHeartbeatState(moment.nowMs), status: "paused" as const, episodes };
  return { ...newHeartbeatRow(), quiet, state: paused };
}

type Evaluated = {
  parts: EvaluateParts;
  known: Known;
  moment: Moment;
  inputs: readonly Input[];
};

function evaluate(id: string, row: Row, { parts, known, moment, inputs }: Evaluated): Decided<Row> {
  if (row.kind === "api") {
    const check = known.definitions.apiChecks.get(id);
    const reports = inputs.flatMap(({ report }) => report ?? []);
    const isOff = check !== undefined && parts.whyOff(check).length > 0;
    const { further } = known;
    return evaluateCheck(id, row, { ...parts.settings, further, check, isOff, reports }, moment);
  }
  const { pings = [], lastPingAtMs = null, hasUrl = false } = known.pings.get(id) ?? {};
  const heartbeat = known.definitions.heartbeats.get(id);
  const { absences } = known;
  return evaluateHeartbeat(id, row, { heartbeat, pings, lastPingAtMs, hasUrl, absences }, moment);
}

function dependencyOf(
  id: string,
  sinceMs: number,
  { known, wanted }: Omit<Deciding, "parts">,
): DependencyState | null {
  const other = known.others.get(id);
  if (other === undefined) wanted.add(id);
  if (other == null) return null;
  const { row, lastPingAtMs } = other;
  const { apiChecks, heartbeats } = known.definitions;
  if (row.kind === "heartbeat") {
    const heartbeat = heartbeats.get(id);
    return heartbeat === undefined ? null : dependencyOfHeartbeat(row, heartbeat, lastPingAtMs);
  }
  const check = apiChecks.get(id);
  return check === undefined
    ? null
    : dependencyOfCheck(row, check, { sinceMs, nowMs: known.nowMs });
}
