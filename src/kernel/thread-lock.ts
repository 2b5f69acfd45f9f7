/**
 * A lock between the threads of a process: a word of shared memory. What it guards takes microseconds and waits for
 * nothing, so that waiting for it may block a thread.
 */

const free = 0;
const held = 1;
/** Held, and a thread may be asleep until it is released. */
const awaited = 2;

/** A holder on another processor is nearly always done before a thread could be put to sleep. */
const spins = 200;

/** A lock that is held for so long is that of a thread that was ended while it held it: it is taken over. */
const abandonedAfterMs = 1_000;

/** `at`: the index of the lock's word, 0 at first. Not reentrant. */
export function lock(words: Int32Array, at: number): void {
  for (let spin = 0; spin < spins; spin += 1) {
    if (Atomics.compareExchange(words, at, free, held) === free) return;
  }
  const giveUpAtMs = performance.now() + abandonedAfterMs;
  while (Atomics.exchange(words, at, awaited) !== free) {
    const leftMs = giveUpAtMs - performance.now();
    if (leftMs <= 0) return;
    Atomics.wait(words, at, awaited, leftMs);
  }
}

export function unlock(words: Int32Array, at: number): void {
  if (Atomics.exchange(words, at, free) === awaited) Atomics.notify(words, at, 1);
}
