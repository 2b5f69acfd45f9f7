/** Takes the next step of a member's deploy. Each may be repeated, by anybody: what is there already is left as it is. */
import type { ReasonCode } from "#fleet/contract.ts";
import type { DriverCall, SentinelObservation } from "#fleet/drivers/driver.ts";
import type { ChangeResult } from "#fleet/drivers/kubernetes/calls.ts";
import type { StepObservation } from "#fleet/drivers/kubernetes/poll-again.ts";
import { timeToJudge, type WorkloadParts } from "#fleet/drivers/kubernetes/workload.ts";
import { gradePod, type MemberView, planMember, type Step } from "./plan.ts";
import { findRecord, type MemberRecord } from "./records.ts";
import { isMadeOf, livingPod, type MemberPlace, renewSet, type SetReading } from "./set-reading.ts";
import { type createTurns, otherOwners, writeRecord } from "./writes.ts";

type StepParts = WorkloadParts & { turns: ReturnType<typeof createTurns> };

type Taken = { at: MemberPlace; reading: SetReading; record: MemberRecord; call: DriverCall };

type Replacement = Extract<Step, { do: "replace" }>;

type Unrecorded = { at: MemberPlace; reading: SetReading; container: string; image: string };

export type Steps = {
  take: (of: Taken) => Promise<StepObservation>;
  /** Somebody has removed the record: what ran before is not known, so nothing can come back. */
  gradeUnrecorded: (of: Unrecorded) => SentinelObservation;
};

export function createSteps(parts: StepParts): Steps {
  /** Why a member's pod could not be ended. */
  const brakes = new Map<string, string>();
  const nameOf = ({ set, member }: MemberPlace) =>
    [set.resource, set.namespace, set.name, member].join("/");

  const viewOf = ({ at, reading, record }: Omit<Taken, "call">): MemberView => ({
    ...parts,
    reading,
    member: at.member,
    record,
    owners: otherOwners(reading, { container: record.container, parts }),
    nowMs: parts.nowMs(),
    judgedWithinMs: timeToJudge(parts.readyTimeoutMs),
    brake: brakes.get(nameOf(at)),
  });

  const replace = async (
    { pod, isServing }: Replacement,
    { at, record, call: { signal } }: Taken,
  ): Promise<StepObservation> => {
    const end = isServing ? parts.calls.evict : parts.calls.remove;
    const ended = await end(pod, signal);
    brakes.delete(nameOf(at));
    if (ended.kind !== "forbidden") return { ...progressing(record.failed), isMoving: true };
    const reason = `${conflict}: its pod may not be ended now: ${ended.words}`;
    brakes.set(nameOf(at), reason);
    return progressing(record.failed ?? reason);
  };

  /** By the set as it is now, whose other members may have changed it. */
  const write = ({ at, reading, record: { id }, call }: Taken): Promise<StepObservation> =>
    parts.turns(at.set, async () => {
      const set = await parts.calls.read(at.set, call.signal);
      const now = set === undefined ? undefined : renewSet(reading, set);
      const record = findRecord(now?.records, at.member);
      if (now === undefined || record?.id !== id) return progressing();
      const view = viewOf({ at, reading: now, record });
      const seen = await writeStep(planMember(view), { view, at, parts, call });
      return { ...seen, isMoving: true };
    });

  const keepLog = async (reason: string, { at, reading, record, call }: Taken): Promise<void> => {
    const pod = livingPod(reading, at.member);
    if (pod === undefined) return;
    await call.beforeRemoval?.({
      reason,
      readLog: (asked) => parts.calls.log([pod], record.container, asked),
    });
  };

  return {
    take: async (taken) => {
      const { record } = taken;
      const step = planMember(viewOf(taken));
      if (step.do === "nothing") return endOf(record);
      if (step.do === "wait") {
        const seen = progressing(record.failed ?? step.reason);
        return { ...seen, isMoving: step.isBrief === true };
      }
      if (step.do === "replace") return replace(step, taken);
      // Outside of its turn at the set, for which other members wait.
      if (step.do === "fail") await keepLog(step.reason, taken);
      return write(taken);
    },
    gradeUnrecorded: ({ at, reading, container, image }) => {
      const pod = livingPod(reading, at.member);
      if (pod === undefined || !isMadeOf(reading, at.member, { container, image })) {
        return { status: "progressing", isOrdered: false };
      }
      const { stableMs } = parts;
      const span = { nowMs: parts.nowMs(), sinceMs: 0, untilMs: Number.POSITIVE_INFINITY };
      const verdict = gradePod(pod, { reading, container, image, stableMs, ...span });
      return verdict.status === "progressing"
        ? progressing(verdict.reason)
        : { ...verdict, isOrdered: true };
    },
  };
}

type Writing = { view: MemberView; at: MemberPlace; parts: WorkloadParts; call: DriverCall };

async function writeStep(step: Step, writing: Writing): Promise<SentinelObservation> {
  const { record } = writing.view;
  switch (step.do) {
    case "set-template":
      return setTemplate(writing);
    case "fail":
      return fail(step, writing);
    case "end": {
      const failed = step.stuck === undefined ? record.failed : notBack(record, step.stuck);
      const ended = { ...record, ...(failed !== undefined && { failed }), ended: true };
      const changed = await keep(ended, writing);
      return changed.kind === "stale" ? progressing(failed) : endOf(ended);
    }
    default:
      // Somebody else has taken the step meanwhile.
      return progressing(record.failed);
  }
}

async function setTemplate(writing: Writing): Promise<SentinelObservation> {
  const { record } = writing.view;
  const image = record.failed === undefined ? record.image : record.previous;
  const changed = await keep(record, writing, image);
  if (changed.kind !== "refused") return progressing(record.failed);
  if (record.failed !== undefined) {
    return writeStep({ do: "end", stuck: changed.reason }, writing);
  }
  return fail({ reason: changed.reason, setsTemplate: false }, writing);
}

/** If somebody keeps the template from being set back, that is said too; it is not tried again and again. */
async function fail(
  { reason, setsTemplate }: { reason: string; setsTemplate: boolean },
  writing: Writing,
): Promise<SentinelObservation> {
  const { record } = writing.view;
  const failed = { ...record, failed: reason, failedAtMs: writing.parts.orderedAtMs() };
  const changed = await keep(failed, writing, setsTemplate ? record.previous : undefined);
  if (changed.kind !== "refused") return progressing(reason);
  const stuck = { ...failed, failed: notBack(failed, changed.reason), ended: true };
  const noted = await keep(stuck, writing);
  return noted.kind === "stale" ? progressing(reason) : endOf(stuck);
}

function keep(record: MemberRecord, writing: Writing, image?: string): Promise<ChangeResult> {
  const { at, view, parts, call } = writing;
  const { set, records } = view.reading;
  const write = { place: at.set, member: at.member, set, records, record, image };
  return writeRecord(write, { parts, call });
}

function notBack({ failed }: MemberRecord, why: string): string {
  return `${failed}; not put back: ${why}`;
}

function endOf({ failed }: MemberRecord): SentinelObservation {
  if (failed === undefined) return { status: "ready", isOrdered: true };
  return { status: "failed", reason: failed, isOrdered: true };
}

function progressing(reason?: string): SentinelObservation {
  return { status: "progressing", reason, isOrdered: true, deniesReady: true };
}

const conflict: ReasonCode = "conflict";
