/** The deploys of one played wave: which of them end next, and when. */
import type { FactMember, FirstResult } from "./facts.ts";

/** A deploy with its times in ms since the start of its wave. */
export type PlayedDeploy = {
  member: FactMember;
  result: FirstResult;
  atMs: number;
  tookMs: number;
};

/** Deploys overlap as they really did; times in which none of them was in flight are cut out. */
function scheduleOf(members: readonly FactMember[]): PlayedDeploy[] {
  const known = members.flatMap((member) => {
    const { result } = member;
    return result === undefined ? [] : [{ member, result }];
  });
  known.sort((a, b) => a.result.startMs - b.result.startMs);
  let idleMs = known[0]?.result.startMs ?? 0;
  let busyUntilMs = idleMs;
  return known.map(({ member, result }) => {
    idleMs += Math.max(0, result.startMs - busyUntilMs);
    busyUntilMs = Math.max(busyUntilMs, result.endMs);
    const { startMs, endMs } = result;
    return { member, result, atMs: startMs - idleMs, tookMs: endMs - startMs };
  });
}

type Flight = { endMs: number; deploy: PlayedDeploy };

export class DeployQueue {
  readonly #waiting: PlayedDeploy[];
  readonly #startMs: number;
  /** The one that ends first is the last. */
  readonly #inFlight: Flight[] = [];
  #started = 0;
  nowMs: number;

  constructor(members: readonly FactMember[], startMs: number) {
    this.#waiting = scheduleOf(members);
    this.#startMs = startMs;
    this.nowMs = startMs;
  }

  /** Starts what is due before the next end, `most` in flight, and returns what ends then. Empty: nothing may start. */
  next(most: number): PlayedDeploy[] | undefined {
    while (this.#inFlight.length < most && this.#startNext());
    const endMs = this.#inFlight.at(-1)?.endMs;
    if (endMs === undefined) return this.#started < this.#waiting.length ? [] : undefined;
    this.nowMs = endMs;
    return this.#takeWhile((one) => one.endMs === endMs);
  }

  /** Returns what is still in flight. */
  rest(): PlayedDeploy[] {
    return this.#takeWhile(() => true);
  }

  #startNext(): boolean {
    const deploy = this.#waiting[this.#started];
    if (deploy === undefined) return false;
    const dueMs = Math.max(this.nowMs, this.#startMs + deploy.atMs);
    if (dueMs >= (this.#inFlight.at(-1)?.endMs ?? Number.POSITIVE_INFINITY)) return false;
    insert(this.#inFlight, { endMs: dueMs + deploy.tookMs, deploy });
    this.#started += 1;
    return true;
  }

  #takeWhile(isEnded: (one: Flight) => boolean): PlayedDeploy[] {
    const ended: PlayedDeploy[] = [];
    for (let last = this.#inFlight.at(-1); last && isEnded(last); last = this.#inFlight.at(-1)) {
      ended.push(last.deploy);
      this.#inFlight.pop();
    }
    return ended;
  }
}

/** Inserts by the time of the end, the earliest last. */
function insert(inFlight: Flight[], flight: Flight): void {
  let low = 0;
  let high = inFlight.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inFlight[middle]?.endMs ?? 0) > flight.endMs) low = middle + 1;
    else high = middle;
  }
  inFlight.splice(low, 0, flight);
}
