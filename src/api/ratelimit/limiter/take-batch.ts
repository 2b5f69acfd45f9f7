/** Batches of calls for take.lua: what a turn of the event loop asks of Redis for one workspace. */
import { type LimitRequest, ownerOf } from "#api/limiter.ts";
import { nameOf } from "./local-limiter.ts";
import type { Cell, Usage } from "./window.ts";

/** The state found, and the counter afterwards. */
export type CountedUsage = { usage: Usage; cell: Cell };

/** `known`: the counters as this process knows them. */
type Take = (
  requests: readonly LimitRequest[],
  known: readonly (Cell | undefined)[],
) => Promise<CountedUsage[]>;

/**
 * A batch that has so many limits is sent at once; with the last call it may have a call's worth more. They take
 * Redis well below a millisecond, in which it serves nobody else.
 */
const limitsPerBatch = 100;

/** Most batches of one workspace in flight: its further requests wait here, not before others in Redis. */
const batchesUnderWay = 4;

type Line = { waiting: TakeBatch[]; underWay: number };

type BatchSettings = {
  /** Runs the script; if it throws, so does every call of the batch. */
  send: (batch: TakeBatch) => Promise<string[]>;
  /** Calls `write`, and puts into one packet what it sends. */
  inOnePacket: (write: () => void) => void;
};

export function createBatches({ send, inOnePacket }: BatchSettings): Take {
  const lines = new Map<string, Line>();
  let isTurnEnding = false;
  const advance = (line: Line, owner: string): void => {
    while (line.underWay < batchesUnderWay) {
      const batch = line.waiting.shift();
      if (batch === undefined) break;
      line.underWay += 1;
      send(batch)
        .then(batch.answer)
        // The waiting ones would fail as late, one after the other.
        .catch((error) => {
          for (const one of [batch, ...line.waiting.splice(0)]) one.fail(error);
        })
        .finally(() => {
          line.underWay -= 1;
          advance(line, owner);
        });
    }
    if (line.underWay === 0) lines.delete(owner);
  };
  const endTurn = () => {
    isTurnEnding = false;
    inOnePacket(() => lines.forEach(advance));
  };
  return (requests, known) =>
    new Promise((resolve, reject) => {
      const owner = ownerOf(requests[0]?.key ?? "");
      if (!isTurnEnding) setImmediate(endTurn);
      isTurnEnding = true;
      const line = lines.get(owner) ?? { waiting: [], underWay: 0 };
      lines.set(owner, line);
      const batch = openIn(line);
      batch.add({ requests, resolve, reject }, known);
      if (batch.isFull()) advance(line, owner);
    });
}

/** The batch that takes the next call. */
function openIn({ waiting }: Line): TakeBatch {
  const last = waiting.at(-1);
  if (last?.isFull() === false) return last;
  const batch = new TakeBatch();
  waiting.push(batch);
  return batch;
}

type WaitingCall = {
  requests: readonly LimitRequest[];
  resolve: (usages: CountedUsage[]) => void;
  reject: (error: Error) => void;
};

/** All calls of a batch are of one workspace. */
export class TakeBatch {
  readonly keys: string[] = [];
  /** Has the sizes of all counters of the workspace. */
  sizesKey = "";
  readonly #calls: WaitingCall[] = [];
  readonly #values: string[] = [];

  add(call: WaitingCall, known: readonly (Cell | undefined)[]): void {
    this.#calls.push(call);
    for (const [index, request] of call.requests.entries()) {
      const { limit, durationMs, cost } = request;
      this.sizesKey = slotOf(request);
      this.keys.push(`${this.sizesKey}:${nameOf(request).replace("/", ":")}`);
      this.#values.push(String(limit), String(durationMs), String(cost), textOf(known[index]));
    }
  }

  isFull(): boolean {
    return this.keys.length >= limitsPerBatch;
  }

  /** The script's ARGV. `now`: unix milliseconds, or empty. `share`: bytes that the workspace's counters may have. */
  values(now: string, share: number): string[] {
    const counts = this.#calls.map(({ requests }) => requests.length);
    const hasOneEach = counts.every((count) => count === 1);
    return [now, hasOneEach ? "" : counts.join(" "), String(share), ...this.#values];
  }

  readonly answer = (counted: readonly string[]): void => {
    let next = 0;
    for (const { requests, resolve } of this.#calls) {
      resolve(requests.map((request) => readCounted(request, counted[next++] ?? "")));
    }
  };

  readonly fail = (error: Error): void => {
    for (const { reject } of this.#calls) reject(error);
  };
}

/** Returns the part of the key in braces, which determines its slot: a cluster's script may only use keys of one slot. */
function slotOf({ key }: LimitRequest): string {
  return `vedette:limit:{${ownerOf(key)}}`;
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? "" : `${cell.sequence} ${cell.current} ${cell.previous}`;
}

function readCounted({ durationMs }: LimitRequest, text: string): CountedUsage {
  const [passed, used, usedByOthers, sequence, current, previous] = text.split(" ").map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const endsMs = (sequence + 1) * durationMs;
  return {
    usage: { passed: passed === 1, used, usedByOthers, endsMs },
    cell: { sequence, current, previous },
  };
}
