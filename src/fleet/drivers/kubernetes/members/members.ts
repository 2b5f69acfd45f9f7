/**
 * A member of a StatefulSet, or a DaemonSet's pod on a node, as a sentinel: orders to it, and what became of them. An
 * order gives the set's template its image and notes that at the set; then the member's pod is ended, so that the next
 * one is made of the template.
 */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DriverCall,
  type LogCall,
  type LogTail,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import type { Calls, Place } from "#fleet/drivers/kubernetes/calls.ts";
import { isReady } from "#fleet/drivers/kubernetes/judge.ts";
import { chooseContainer, hasMembers, unknownContainer } from "#fleet/drivers/kubernetes/kinds.ts";
import type { StepObservation } from "#fleet/drivers/kubernetes/poll-again.ts";
import type { Pod, Workload } from "#fleet/drivers/kubernetes/schemas.ts";
import type { Order, WorkloadParts } from "#fleet/drivers/kubernetes/workload.ts";
import { pause, unlessAborted } from "#kernel/async.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import { findHolder, wordsOfHolder } from "./plan.ts";
import { endMsOf, findRecord, type MemberRecord, targetOf } from "./records.ts";
import {
  buildSetReading,
  livingPod,
  type MemberPlace,
  madeImage,
  membersOf,
  renewSet,
  type SetReading,
  templateOf,
} from "./set-reading.ts";
import { createSteps, type Steps } from "./steps.ts";
import { createTurns, writeRecord } from "./writes.ts";

/** Somebody else may change the set between our read and our change, and again. */
const mostTries = 5;

type Parts = {
  parts: WorkloadParts;
  readings: Readings;
  turns: ReturnType<typeof createTurns>;
  steps: Steps;
};

export function createMembers(parts: WorkloadParts) {
  const turns = createTurns();
  const readings = createReadings(parts.calls, parts.fieldManager);
  const all = { parts, readings, turns, steps: createSteps({ ...parts, turns }) };
  return {
    readings,
    apply: (at: MemberPlace, order: Order, call: DriverCall) => apply(at, order, { ...all, call }),
    observe: (at: MemberPlace, order: Order, call: DriverCall) =>
      observe(at, order, { ...all, call }),
    readLog: (at: MemberPlace, of: MemberLog) => readLog(at, of, all),
    finish: (place: Place, signal: AbortSignal) =>
      finish(place, { ...all, call: { signal } }, signal),
  };
}

type Orderer = Parts & { call: DriverCall };

async function apply(at: MemberPlace, order: Order, by: Orderer): Promise<ApplyResult> {
  const reading = await by.readings.of(at.set, by.call.signal);
  if (reading === undefined) return { failure: gone };
  return by.turns(at.set, async () => {
    for (let tries = 0; tries < mostTries; tries++) {
      const set = await by.parts.calls.read(at.set, by.call.signal);
      if (set === undefined) return { failure: gone };
      const changed = await giveOrder(renewSet(reading, set), { at, order, by });
      if (changed.kind === "done") return {};
      if (changed.kind === "refused") return { failure: changed.reason };
    }
    throw new UnreachableError("unreachable: the set changes all the time");
  });
}

type OrderInput = { at: MemberPlace; order: Order; by: Orderer };

/** Throws `UnreachableError` while another member needs the template as it is: the order is given later. */
async function giveOrder(
  reading: SetReading,
  { at: { set: place, member }, order, by: { parts, call } }: OrderInput,
): Promise<{ kind: "done" | "stale" } | { kind: "refused"; reason: string }> {
  const { set, records } = reading;
  if (findRecord(records, member)?.id === order.deployId) return { kind: "done" };
  const container = chooseContainer(set, parts.container) ?? "";
  const reason = findObstacle(reading, { member, container });
  if (reason !== undefined) return { kind: "refused", reason };
  const { image } = order;
  const times = { nowMs: parts.nowMs(), readyTimeoutMs: parts.readyTimeoutMs };
  const holder = findHolder(reading, { member, container, image, isBack: false, ...times });
  if (holder !== undefined) throw new UnreachableError(wordsOfHolder(holder));
  const record = buildRecord(reading, { member, container, order, parts });
  return writeRecord({ place, set, records, member, record, image }, { parts, call });
}

function findObstacle(
  reading: SetReading,
  { member, container }: { member: string; container: string },
): string | undefined {
  const isThere = hasMembers(reading.set) && membersOf(reading).includes(member);
  if (!isThere || reading.set.metadata.deletionTimestamp !== "") return gone;
  return container === "" ? unknownContainer : undefined;
}

type Build = { member: string; container: string; order: Order; parts: WorkloadParts };

/** An image that has not proven itself is not what comes back. */
function buildRecord(
  reading: SetReading,
  { member, container, order, parts }: Build,
): MemberRecord {
  const before = findRecord(reading.records, member);
  const pod = livingPod(reading, member);
  const present = madeImage(reading, member, container);
  const known =
    present || (before === undefined ? templateOf(reading, container) : targetOf(before));
  const isServing = pod !== undefined && isReady(pod) && before?.failed === undefined;
  const isUnproven = present === "" || (!isServing && isSameContent(present, before?.image ?? ""));
  const previous =
    before !== undefined && before.ended !== true && isUnproven ? before.previous : known;
  const { image, deployId: id } = order;
  return { id, image, previous, container, atMs: parts.orderedAtMs() };
}

/** `deployId`: of what this deploy has started; absent: of what runs. */
type MemberLog = { deployId: string | undefined; call: LogCall };

async function readLog(
  at: MemberPlace,
  { deployId, call }: MemberLog,
  { readings, parts }: Parts,
): Promise<LogTail> {
  const reading = await readings.of(at.set, call.signal);
  if (reading === undefined) return { absent: "there is no such set" };
  const record = findRecord(reading.records, at.member);
  if (deployId !== undefined && (record?.id !== deployId || record.failed !== undefined)) {
    return { absent: "its pod has been removed" };
  }
  const container = record?.container ?? chooseContainer(reading.set, parts.container) ?? "";
  return parts.calls.log(podsOf(reading, at.member), container, call);
}

function podsOf(reading: SetReading, member: string): Pod[] {
  const pod = livingPod(reading, member);
  return pod === undefined ? [] : [pod];
}

type Observer = Parts & { call: DriverCall };

async function observe(at: MemberPlace, order: Order, by: Observer): Promise<StepObservation> {
  const reading = await by.readings.of(at.set, by.call.signal);
  if (reading === undefined) return { status: "failed", reason: gone };
  const record = findRecord(reading.records, at.member);
  const isOurs = record?.id === order.deployId;
  const isOver = isOurs && record.ended === true;
  if (!isOver && !membersOf(reading).includes(at.member)) return { status: "failed", reason: gone };
  const container = record?.container ?? chooseContainer(reading.set, by.parts.container) ?? "";
  // While there is none it is what comes back if this fails.
  const pod = livingPod(reading, at.member);
  const now = {
    running_image: madeImage(reading, at.member, container) || record?.previous,
    healthy: pod !== undefined && isReady(pod),
  };
  if (isOurs) {
    return { ...(await by.steps.take({ reading, at, record, call: by.call })), ...now };
  }
  if (record !== undefined) return { status: "progressing", isOrdered: false, ...now };
  const seen = by.steps.gradeUnrecorded({ reading, at, container, image: order.image });
  return { ...seen, ...now };
}

/** The number of polls, in one go, of something that nobody asks about any more. */
const mostRounds = 10;
const roundMs = 1_000;

async function finish(place: Place, by: Observer, signal: AbortSignal): Promise<void> {
  for (let round = 0; round < mostRounds && !signal.aborted; round++) {
    const reading = await by.readings.of(place, signal);
    if (reading === undefined) return;
    const left = Object.entries(reading.records?.members ?? {}).filter(([, record]) =>
      isLeft(record, by.parts),
    );
    if (left.length === 0) return;
    for (const [member, record] of left) {
      await by.steps.take({ reading, at: { set: place, member }, record, call: by.call });
    }
    await pause(roundMs, signal);
  }
}

/** A failure is brought to its end at once, by whoever finds it; an order once its time is over. */
function isLeft(record: MemberRecord, { nowMs, readyTimeoutMs }: WorkloadParts): boolean {
  if (record.ended === true) return false;
  return record.failed !== undefined || nowMs() >= endMsOf(record, readyTimeoutMs);
}

const gone = `${"target_gone" satisfies ReasonCode}: the set has no such member, or replaces its pods by itself`;

type Readings = {
  /** Begins after it is asked for. undefined: there is no such set, or it has no members. */
  of: (place: Place, signal?: AbortSignal) => Promise<SetReading | undefined>;
  /** With the set as it was read already. */
  ofSet: (set: Workload, signal?: AbortSignal) => Promise<SetReading>;
};

type Read = Promise<SetReading | undefined>;

/** Members that want a look at the same time share it: a DaemonSet has many of them. */
function createReadings(calls: Pick<Calls, "read" | "madePods">, fieldManager: string): Readings {
  const running = new Map<string, Read>();
  const next = new Map<string, Read>();

  const ofSet = async (set: Workload, signal?: AbortSignal) =>
    buildSetReading(set, await calls.madePods(set, signal), fieldManager);

  const read = async (place: Place): Read => {
    const set = await calls.read(place);
    return set === undefined || !hasMembers(set) ? undefined : ofSet(set);
  };

  /** After the one that is under way, whose answers may be from before. */
  const start = async (place: Place, key: string): Read => {
    await running.get(key)?.catch(() => {});
    const begun = read(place);
    next.delete(key);
    running.set(key, begun);
    try {
      return await begun;
    } finally {
      if (running.get(key) === begun) running.delete(key);
    }
  };

  return {
    ofSet,
    of: async (place, signal) => {
      const key = `${place.resource}/${place.namespace}/${place.name}`;
      const shared = next.get(key) ?? start(place, key);
      next.set(key, shared);
      return unlessAborted(shared, signal);
    },
  };
}
