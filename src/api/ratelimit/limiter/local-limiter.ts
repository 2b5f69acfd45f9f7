/** The sliding window of one process, which may have several threads. */
import { hash } from "node:crypto";
import { type Limiter, type LimitRequest, ownerOf, type TakeAnswer } from "#api/limiter.ts";
import { createCellMemory } from "./cell-memory.ts";
import { Cells } from "./cells.ts";
import {
  answerBatch,
  answerOne,
  type Cell,
  fits,
  type Moment,
  momentIn,
  rebase,
  type Usage,
  usedOf,
} from "./window.ts";

export type LocalLimiter = Omit<Limiter, "take"> & {
  take: (requests: readonly LimitRequest[], nowMs: number) => TakeAnswer;
  /** The counter of a request's limit; undefined: none. */
  peek: (request: LimitRequest) => Cell | undefined;
  /** Joins a counter of another limiter with the one here. */
  learn: (request: LimitRequest, cell: Cell) => void;
  size: () => number;
};

/** `maxCells`: the maximum of counters; beyond it the workspace with the most loses one. */
export function createLocalLimiter({ maxCells }: { maxCells?: number } = {}): LocalLimiter {
  return createLimiterOn(new Cells(createCellMemory({ maxCells, parts: 1 })));
}

/** `cells`: of this limiter alone, or shared with those of other threads. */
export function createLimiterOn(cells: Cells): LocalLimiter {
  return {
    take: (requests, nowMs) => {
      const [only] = requests;
      if (only === undefined || requests.length > 1) return takeBatch(cells, requests, nowMs);
      return takeOne(cells, only, nowMs);
    },
    peek: (request) => {
      const name = nameOf(request);
      return cells.hold([name], () => cells.get(name));
    },
    learn: (request, cell) => {
      const name = nameOf(request);
      cells.hold([name], () => cells.put(name, joined(cells.get(name), cell), request.durationMs));
    },
    size: () => cells.size,
    close: async () => cells.close(),
  };
}

/** The larger counts of both: what was counted here while Redis was away still counts, and the later window holds. */
function joined(kept: Cell | undefined, learnt: Cell): Cell {
  if (kept === undefined) return learnt;
  const sequence = Math.max(kept.sequence, learnt.sequence);
  const one = rebase(kept, sequence);
  const other = rebase(learnt, sequence);
  return {
    sequence,
    current: Math.max(one.current, other.current),
    previous: Math.max(one.previous, other.previous),
  };
}

/** A longer one is replaced by its hash: an identifier may have 512 characters. */
const nameAtMost = 128;

/** The same key with another duration is another limit. Its workspace is still in it. */
export function nameOf({ key, durationMs }: LimitRequest): string {
  if (key.length <= nameAtMost) return `${durationMs}/${key}`;
  return `${durationMs}/${ownerOf(key)}/${hash("sha256", key, "base64")}`;
}

/** Does the same as `takeBatch`, but faster: nearly all batches have one request. */
function takeOne(cells: Cells, request: LimitRequest, nowMs: number): TakeAnswer {
  const name = nameOf(request);
  const usage = cells.hold([name], () => countOne(cells, request, { name, nowMs }));
  return { passed: usage.passed, answers: [answerOne(request, usage, usage.passed)] };
}

function countOne(
  cells: Cells,
  request: LimitRequest,
  { name, nowMs }: { name: string; nowMs: number },
): Usage {
  const { durationMs, cost } = request;
  const kept = cells.get(name);
  const moment = momentIn(kept, durationMs, nowMs);
  const cell = rebase(kept, moment.sequence);
  const used = usedOf(cell, moment);
  const passed = fits(request, used);
  if (passed) count(cells, name, { cell, durationMs, taken: cost });
  return { passed, used, usedByOthers: used, endsMs: moment.endsMs };
}

/** A cell of a batch, and what the batch has taken from it so far. */
type Tally = { cell: Cell; moment: Moment; durationMs: number; taken: number };

function takeBatch(cells: Cells, requests: readonly LimitRequest[], nowMs: number): TakeAnswer {
  const names = requests.map(nameOf);
  return cells.hold(names, () => countBatch(cells, requests, { names, nowMs }));
}

function countBatch(
  cells: Cells,
  requests: readonly LimitRequest[],
  { names, nowMs }: { names: readonly string[]; nowMs: number },
): TakeAnswer {
  const tallies = new Map<string, Tally>();
  const usages = requests.map((request, index): Usage => {
    const name = names[index] as string;
    const tally = tallies.get(name) ?? tallyOf(cells, name, { request, nowMs });
    tallies.set(name, tally);
    const usedByOthers = usedOf(tally.cell, tally.moment);
    const used = usedByOthers + tally.taken;
    const passed = fits(request, used);
    if (passed) tally.taken += request.cost;
    return { passed, used, usedByOthers, endsMs: tally.moment.endsMs };
  });
  const answer = answerBatch(requests, usages);
  if (answer.passed) for (const [name, tally] of tallies) count(cells, name, tally);
  return answer;
}

function tallyOf(
  cells: Cells,
  name: string,
  { request, nowMs }: { request: LimitRequest; nowMs: number },
): Tally {
  const { durationMs } = request;
  const kept = cells.get(name);
  const moment = momentIn(kept, durationMs, nowMs);
  return { cell: rebase(kept, moment.sequence), moment, durationMs, taken: 0 };
}

/** A cost of 0, or a refusal, creates no counter. */
function count(cells: Cells, name: string, { cell, durationMs, taken }: Omit<Tally, "moment">) {
  if (taken === 0) return;
  const { sequence, current, previous } = cell;
  cells.put(name, { sequence, current: current + taken, previous }, durationMs);
}
