/** The kinds of gates, and what all of them have in common. Pure. */
import { ProblemError } from "#kernel/problem.ts";
import { noSuch } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import { checksGate } from "./checks.ts";
import { compareGate, compareTimeoutMs } from "./compare.ts";
import type {
  CheckGate,
  Gate,
  GateKindName,
  GateOf,
  GateProblemCode,
  GateRow,
  GateState,
  GateStatus,
  Gates,
  NamedGate,
  WaveGates,
} from "./contract.ts";
import type { Evaluation, Found, GateKind, GateTargets } from "./kind.ts";
import { pauseGate } from "./pause.ts";
import { prometheusGate } from "./prometheus.ts";
import { webhookGate } from "./webhook.ts";

const kinds: { [Kind in GateKindName]: GateKind<NamedGate & GateOf<Kind>> } = {
  checks: checksGate,
  prometheus: prometheusGate,
  webhook: webhookGate,
  pause: pauseGate,
  compare: compareGate,
};

/** The parts of the gate's kind. */
export function kindOf<Row extends NamedGate>(gate: Row): GateKind<Row> {
  return kinds[gate.kind] as unknown as GateKind<Row>;
}

type GateRequest = { gate?: CheckGate | undefined; gates?: Gates | undefined };

/**
 * The gates of a request: `gate` first. Each has a name of its own. `rows`: the gates of the definitions, of which it
 * has the default ones if it has neither `gate` nor `gates`. Throws 400 `unknown_gate`.
 */
export function gatesOf({ gate, gates }: GateRequest, rows: readonly GateRow[]): NamedGate[] {
  const byDefault = gate === undefined ? rows.filter((row) => row.default).map(({ id }) => id) : [];
  const chosen: Gate[] = [
    ...(gate === undefined ? [] : [{ kind: "checks", ...gate } as const]),
    ...(gates ?? byDefault).map((one) => (typeof one === "string" ? gateOfRow(one, rows) : one)),
  ];
  const taken = new Set(chosen.flatMap(({ name }) => name ?? []));
  return chosen.map((one) => {
    const name = one.name ?? freeName(one.kind, taken);
    taken.add(name);
    return { ...one, name };
  });
}

function gateOfRow(wanted: string, rows: readonly GateRow[]): NamedGate {
  const row = rows.find(({ id }) => id === wanted);
  if (row === undefined) {
    const ids = rows.map(({ id }) => id);
    const detail = noSuch("gate of the definitions", wanted, ids);
    throw new ProblemError<GateProblemCode>({ status: 400, code: "unknown_gate", detail });
  }
  const { id, default: _, ...gate } = row;
  return { ...gate, name: id };
}

/** The kind, or with the first number that no other gate has. */
function freeName(kind: GateKindName, taken: ReadonlySet<string>): string {
  let name: string = kind;
  for (let nth = 2; taken.has(name); nth += 1) name = `${kind}-${nth}`;
  return name;
}

/** Lists the API checks that these gates wait for. */
export function checksOf(gates: readonly Gate[]): string[] {
  return gates.flatMap((gate) => (gate.kind === "checks" ? gate.checks : []));
}

/** Throws for the first gate that could never open. */
export function requireGates(gates: readonly NamedGate[], targets: GateTargets): void {
  for (const gate of gates) {
    const refusal = kindOf(gate).refuse(gate, targets);
    if (refusal !== undefined) throw refusal;
  }
}

/** Gates that have just closed after wave `wave`, counted from 1. */
export function closeGates(gates: readonly NamedGate[], wave: number, nowMs: number): WaveGates {
  return {
    wave,
    since: toIso(nowMs),
    gates: gates.map((gate) => withEvaluation(gate, closeGate(gate, nowMs), nowMs)),
  };
}

function closeGate(gate: NamedGate, nowMs: number): GateState {
  return {
    name: gate.name,
    kind: gate.kind,
    until: endOf(gate, nowMs),
    on_timeout: "pause",
    verdict: "pending",
    reason: "",
    readings: [],
    count: { all: 0, pass: 0, fail: 0 },
    ...kindOf(gate).open(gate),
  };
}

function endOf(gate: NamedGate, fromMs: number): string {
  return toIso(
    fromMs + (gate.kind === "compare" ? compareTimeoutMs(gate) : gate.timeout_seconds * 1_000),
  );
}

function withEvaluation(gate: NamedGate, state: GateState, nowMs: number): GateState {
  const { evaluate } = kindOf(gate);
  const { verdict, reason } = evaluate(gate, state, nowMs);
  const end = evaluate(gate, state, Date.parse(state.until));
  const on_timeout =
    end.verdict === "pass" ? "continue" : end.rollsBack === true ? "rollback" : "pause";
  return { ...state, verdict, reason, on_timeout };
}

/**
 * The state with the confirmation of a gate; undefined: it has no gate of this name that waits for one. At the end of
 * its time none does any more, whenever the conditions are polled next.
 */
export function withConfirmation(
  status: WaveGates,
  gates: readonly NamedGate[],
  { name, by, nowMs }: { name: string; by: string; nowMs: number },
): WaveGates | undefined {
  const gate = gates.find((one) => one.name === name && one.kind === "pause");
  const state = status.gates.find((one) => one.name === name);
  if (gate === undefined || state === undefined || state.confirmed !== undefined) return undefined;
  if (nowMs >= Date.parse(state.until)) return undefined;
  const confirmed = withEvaluation(gate, { ...state, confirmed: { by, at: toIso(nowMs) } }, nowMs);
  return { ...status, gates: status.gates.map((one) => (one === state ? confirmed : one)) };
}

/** The result of reading a gate, by its name; null: it could not be read, or was not due. */
export type GateReading = { name: string; found: Found | null };

/** The state with what was read at `atMs`. */
export function withGateReadings(
  status: WaveGates,
  gates: readonly NamedGate[],
  { readings, atMs }: { readings: readonly GateReading[]; atMs: number },
): WaveGates {
  const foundOf = new Map(readings.map(({ name, found }) => [name, found]));
  return {
    ...status,
    gates: status.gates.map((state) => {
      const gate = gates.find(({ name }) => name === state.name);
      const found = foundOf.get(state.name) ?? null;
      if (gate === undefined || found === null) return state;
      const read = { ...kindOf(gate).withFound(state, found), readAt: toIso(atMs) };
      const next = withEvaluation(gate, read, atMs);
      // One that was open has all its time again to pass anew.
      const isLost = state.verdict === "pass" && next.verdict !== "pass";
      return isLost ? { ...next, until: endOf(gate, atMs) } : next;
    }),
  };
}

/** `endMs`: when the rollout pauses if it has not passed by then. */
export type EvaluatedGate = Evaluation & { gate: NamedGate; endMs: number };

/** Each gate as it is now. `resumedAt`: since when nothing has been read that counts; ISO 8601. */
export function evaluateGates(
  status: WaveGates,
  gates: readonly NamedGate[],
  { nowMs, resumedAt }: { nowMs: number; resumedAt: string | undefined },
): EvaluatedGate[] {
  return status.gates.flatMap((state) => {
    const gate = gates.find(({ name }) => name === state.name);
    if (gate === undefined) return [];
    const kind = kindOf(gate);
    const evaluation = kind.evaluate(gate, state, nowMs);
    const untilMs = Date.parse(state.until);
    if (evaluation.verdict !== "pass" || !kind.isKept || resumedAt === undefined) {
      return [{ ...evaluation, gate, endMs: untilMs }];
    }
    // One that was open takes a reading after a Resume, for which it has all its time again.
    const endMs = Math.max(untilMs, Date.parse(endOf(gate, Date.parse(resumedAt))));
    const isStale = (state.readAt ?? "") < resumedAt;
    const reason = "no reading has passed since the rollout was resumed";
    const stale = { verdict: "pending", reason, isDoubtful: true } as const;
    return [{ ...(isStale ? stale : evaluation), gate, endMs }];
  });
}

/** The gates as Status has them. */
export function viewGates({ wave, since, gates }: WaveGates): GateStatus {
  const closed = gates
    .filter(({ verdict }) => verdict !== "pass")
    .toSorted((a, b) => (a.until < b.until ? -1 : 1));
  const end = closed.find(({ on_timeout }) => on_timeout !== "continue") ?? closed.at(-1);
  return {
    wave,
    since,
    until: end?.until ?? since,
    on_timeout: end?.on_timeout ?? "continue",
    checks: gates.flatMap(({ checks = [] }) => checks),
    gates: gates
      .filter(({ kind }) => kind !== "checks")
      .map(({ count: _c, readAt: _r, checks: _s, confirmed: _f, ...view }) => view),
  };
}
