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
  /** What is counted of a request's limit; undefined: nothing. */
  peek: (request: LimitRequest) => Cell | undefined;
  /** Takes over what another engine has counted. */
  learn: (request: LimitRequest, cell: Cell) => void;
  /** How many counters are kept. */
  size: () => number;
};

/** `maxCells`: counters kept at most; beyond it the oldest are forgotten. */
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

/** Beyond it a name is kept by its hash: what identifies a caller may be of 512 characters. */
const nameAtMost = 128;

/** A limit that is asked about with another duration is another limit. */
function nameOf({ key, durationMs }: LimitRequest): string {
  return `${durationMs}/${key.length > nameAtMost ? hash("sha256", key, "base64") : key}`;
}

/** As `takeBatch` does it; nearly all batches are of one. */
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

/** A cell that a batch asks about, and what the batch has taken of it so far. */
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

/** Who only looks, or is refused, takes no memory. */
function count(cells: Cells, name: string, { cell, durationMs, taken }: Omit<Tally, "moment">) {
  if (taken === 0) return;
  const { sequence, current, previous } = cell;
  cells.put(name, { sequence, current: current + taken, previous }, durationMs);
}
