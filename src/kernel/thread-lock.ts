/**
 * A lock between the threads of a process: a word of shared memory. What it guards takes microseconds and waits for
 * nothing, so that waiting for it may block a thread.
 *
 * The word names the acquisition that holds it, and in its lowest bit says whether a thread may be asleep until it is
 * released. So a thread that was ended while it held a lock is told from many that hold it one after the other.
 */
import { threadId } from "node:worker_threads";

const free = 0;
const awaitedBit = 1;

/** A holder on another processor is nearly always done before a thread could be put to sleep. */
const spins = 200;

/** Looks, not time: taken over after so many with the same acquisition. A process that stands still does not look. */
const lookEveryMs = 50;
const abandonedAfterLooks = 60;

/** Bits of the word: the thread, how many times it has taken a lock, and the lowest one. */
const threadBits = 7;
const countBits = 23;
const ownThread = ((threadId % 2 ** threadBits) + 1) << (countBits + 1);
let count = 0;

function nextAcquisition(): number {
  count = (count + 1) % 2 ** countBits;
  return ownThread | (count << 1);
}

/** Returns the acquisition, for `unlock`. `at`: the index of the lock's word, 0 at first. Not reentrant. */
export function lock(words: Int32Array, at: number): number {
  const own = nextAcquisition();
  for (let spin = 0; spin < spins; spin += 1) {
    if (Atomics.compareExchange(words, at, free, own) === free) return own;
  }
  return sleepUntilFree(words, at, own | awaitedBit);
}

/** `own` has the bit: others may be asleep as well. */
function sleepUntilFree(words: Int32Array, at: number, own: number): number {
  let seen = free;
  let looks = 0;
  for (;;) {
    const holder = Atomics.compareExchange(words, at, free, own);
    if (holder === free) return own;
    const marked = holder | awaitedBit;
    looks = marked === seen ? looks : 0;
    seen = marked;
    // By exactly this word, so that one thread takes it over.
    if (looks >= abandonedAfterLooks && replace(words, at, { from: holder, to: own })) return own;
    if (mark(words, at, holder) && sleep(words, at, marked) === "timed-out") looks += 1;
  }
}

/** Makes the holder wake the sleepers. False if the lock has changed meanwhile. */
function mark(words: Int32Array, at: number, holder: number): boolean {
  const marked = holder | awaitedBit;
  return holder === marked || replace(words, at, { from: holder, to: marked });
}

function sleep(words: Int32Array, at: number, marked: number) {
  return Atomics.wait(words, at, marked, lookEveryMs);
}

/** Does nothing when it was taken over. */
export function unlock(words: Int32Array, at: number, own: number): void {
  if ((own & awaitedBit) === 0 && replace(words, at, { from: own, to: free })) return;
  if (replace(words, at, { from: own | awaitedBit, to: free })) Atomics.notify(words, at, 1);
}

/** Runs `work` while this thread holds the lock. */
export function withLock<Result>(words: Int32Array, at: number, work: () => Result): Result {
  const own = lock(words, at);
  try {
    return work();
  } finally {
    unlock(words, at, own);
  }
}

function replace(
  words: Int32Array,
  at: number,
  { from, to }: { from: number; to: number },
): boolean {
  return Atomics.compareExchange(words, at, from, to) === from;
}
