/** The sliding window of one process. */
import { hash } from "node:crypto";
import type { Limiter, LimitRequest, TakeAnswer } from "#api/limiter.ts";
import { Cells } from "./cells.ts";
import {
  answerBatch,
  answerOne,
  type Cell,
  fits,
  type Look,
  type Moment,
  momentOf,
  rebase,
  usedOf,
} from "./window.ts";

export type LocalLimiter = Omit<Limiter, "take"> & {
  take: (requests: readonly LimitRequest[], nowMs: number) => TakeAnswer;
  /** The counter of a request's limit; undefined: none. */
  peek: (request: LimitRequest) => Cell | undefined;
  /** Takes over a counter of another limiter. */
  learn: (request: LimitRequest, cell: Cell) => void;
  /** How many counters are kept. */
  size: () => number;
};

/** `maxCells`: the maximum of counters; beyond it the oldest are evicted. */
export function createLocalLimiter({ maxCells }: { maxCells?: number } = {}): LocalLimiter {
  const cells = new Cells(maxCells);
  return {
    take: (requests, nowMs) => {
      const [only] = requests;
      if (only === undefined || requests.length > 1) return takeBatch(cells, requests, nowMs);
      return takeOne(cells, only, nowMs);
    },
    peek: (request) => cells.get(nameOf(request)),
    learn: (request, cell) => cells.put(nameOf(request), cell, request.durationMs),
    size: () => cells.size,
    close: async () => cells.close(),
  };
}

/** A longer name is replaced by its hash: an identifier may have 512 characters. */
const nameAtMost = 128;

/** The same key with another duration is another limit. */
function nameOf({ key, durationMs }: LimitRequest): string {
  return `${durationMs}/${key.length > nameAtMost ? hash("sha256", key, "base64") : key}`;
}

/** As `takeBatch`, but faster: nearly all batches have one request. */
function takeOne(cells: Cells, request: LimitRequest, nowMs: number): TakeAnswer {
  const { durationMs, cost } = request;
  const name = nameOf(request);
  const moment = momentOf(durationMs, nowMs);
  const cell = rebase(cells.get(name), moment.sequence);
  const used = usedOf(cell, moment);
  const passed = fits(request, used);
  if (passed) count(cells, name, { cell, durationMs, taken: cost });
  const look = { passed, used, usedByOthers: used, endsMs: moment.endsMs };
  return { passed, answers: [answerOne(request, look, passed)] };
}

/** A cell of a batch, and what the batch has taken from it so far. */
type Tally = { cell: Cell; moment: Moment; durationMs: number; taken: number };

function takeBatch(cells: Cells, requests: readonly LimitRequest[], nowMs: number): TakeAnswer {
  const tallies = new Map<string, Tally>();
  const looks = requests.map((request): Look => {
    const name = nameOf(request);
    const tally = tallies.get(name) ?? tallyOf(cells, name, { request, nowMs });
    tallies.set(name, tally);
    const usedByOthers = usedOf(tally.cell, tally.moment);
    const used = usedByOthers + tally.taken;
    const passed = fits(request, used);
    if (passed) tally.taken += request.cost;
    return { passed, used, usedByOthers, endsMs: tally.moment.endsMs };
  });
  const answer = answerBatch(requests, looks);
  if (answer.passed) for (const [name, tally] of tallies) count(cells, name, tally);
  return answer;
}

function tallyOf(
  cells: Cells,
  name: string,
  { request, nowMs }: { request: LimitRequest; nowMs: number },
): Tally {
  const { durationMs } = request;
  const moment = momentOf(durationMs, nowMs);
  return { cell: rebase(cells.get(name), moment.sequence), moment, durationMs, taken: 0 };
}

/** A cost of 0, or a refusal, creates no counter. */
function count(cells: Cells, name: string, { cell, durationMs, taken }: Omit<Tally, "moment">) {
  if (taken === 0) return;
  const { sequence, current, previous } = cell;
  cells.put(name, { sequence, current: current + taken, previous }, durationMs);
}
