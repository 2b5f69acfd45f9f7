/** Invalidations for the threads of a process, of which one listens to those of other processes. */
import { withLock } from "#kernel/thread-lock.ts";
import { announce, type Invalidations, lostAfterMs, type Stale } from "./invalidation.ts";

const lockWord = 0;
/** Number of bytes written, modulo 2^32. */
const writtenWord = 1;

/**
 * A log of changes for the caches of all threads of a process: a ring of text in shared memory. A thread that has
 * made a change writes it here before it answers; every thread reads on before it looks into a cache, so that no
 * thread answers by an earlier state, and none waits for another.
 */
export type ChangeMemory = { words: Int32Array; bytes: Uint8Array };

/** `size`: bytes, a power of two. */
export function createChangeMemory(size = 1024 * 1024): ChangeMemory {
  return {
    words: new Int32Array(new SharedArrayBuffer(2 * 4)),
    bytes: new Uint8Array(new SharedArrayBuffer(size)),
  };
}

/** Stands for a tag: anything may have changed. */
const anything = "*";

/** One thread's access. It has read what was written before its construction. */
export class ChangeLog {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  /** Number of bytes that this thread has read, as the words count them. */
  #read: number;

  constructor({ words, bytes }: ChangeMemory) {
    this.#words = words;
    this.#bytes = bytes;
    this.#read = Atomics.load(words, writtenWord);
  }

  /** True if there are changes that this thread hasn't read. */
  hasNews(): boolean {
    return Atomics.load(this.#words, writtenWord) !== this.#read;
  }

  /** `stale` undefined: anything may have changed. */
  write(stale: readonly (Stale | undefined)[]): void {
    if (stale.length === 0) return;
    const text = `${stale.map((tag) => tag ?? anything).join(" ")} `;
    const bytes = Buffer.from(text.length > this.#bytes.length / 4 ? `${anything} ` : text);
    const words = this.#words;
    withLock(words, lockWord, () => {
      const start = Atomics.load(words, writtenWord);
      this.#copyIn(bytes, start);
      Atomics.store(words, writtenWord, (start + bytes.length) | 0);
    });
  }

  /** Returns the changes since the last call; undefined in it: some were missed, so anything may have changed. */
  read(): (Stale | undefined)[] {
    const text = this.#readText();
    if (text === undefined) return [undefined];
    return text
      .split(" ")
      .slice(0, -1)
      .map((tag) => (tag === anything ? undefined : (tag as Stale)));
  }

  /** undefined: some of it is overwritten. */
  #readText(): string | undefined {
    const words = this.#words;
    return withLock(words, lockWord, () => {
      const start = this.#read;
      this.#read = Atomics.load(words, writtenWord);
      const length = (this.#read - start) >>> 0;
      return length > this.#bytes.length ? undefined : this.#copyOut(start, length);
    });
  }

  #copyIn(bytes: Buffer, start: number): void {
    const size = this.#bytes.length;
    const at = start & (size - 1);
    const beforeEnd = Math.min(bytes.length, size - at);
    this.#bytes.set(bytes.subarray(0, beforeEnd), at);
    this.#bytes.set(bytes.subarray(beforeEnd), 0);
  }

  #copyOut(start: number, length: number): string {
    const size = this.#bytes.length;
    const at = start & (size - 1);
    const beforeEnd = Math.min(length, size - at);
    const copy = Buffer.allocUnsafe(length);
    copy.set(this.#bytes.subarray(at, at + beforeEnd), 0);
    copy.set(this.#bytes.subarray(0, length - beforeEnd), beforeEnd);
    return copy.toString();
  }
}

export type InvalidationMemory = {
  changes: ChangeMemory;
  /** The moment until which everything that was announced has been received, as `sharedNow` tells it. */
  receivedAt: Float64Array;
};

export function createInvalidationMemory(): InvalidationMemory {
  const receivedAt = new Float64Array(new SharedArrayBuffer(8));
  receivedAt[0] = Number.NEGATIVE_INFINITY;
  return { changes: createChangeMemory(), receivedAt };
}

/** A thread that does nothing reads what has changed at least so often, so that the ring has room. */
const readEveryMs = 250;

/** Makes each thread's `performance.now()` comparable. The least of some readings, as a thread may stand still between. */
const sinceBootMs = Math.min(
  ...Array.from({ length: 5 }, () => {
    const ownMs = performance.now();
    return Number(process.hrtime.bigint()) / 1e6 - ownMs;
  }),
);

/** The invalidations of one thread. */
export function createThreadInvalidations(memory: InvalidationMemory): Invalidations {
  const log = new ChangeLog(memory.changes);
  const listeners: ((stale: Stale | undefined) => void)[] = [];
  const catchUp = () => {
    if (!log.hasNews()) return;
    for (const stale of log.read()) {
      for (const listener of listeners) listener(stale);
    }
  };
  const timer = setInterval(catchUp, readEveryMs).unref();
  return {
    isLive: (now = performance.now()) =>
      now + sinceBootMs - (memory.receivedAt[0] as number) < lostAfterMs,
    announce,
    apply: (stale) => {
      log.write(stale);
      catchUp();
    },
    catchUp,
    subscribe: (listener) => listeners.push(listener),
    close: async () => clearInterval(timer),
  };
}

/** Relays the invalidations that the listening thread receives. */
export function createInvalidationRelay(memory: InvalidationMemory) {
  const log = new ChangeLog(memory.changes);
  return {
    onStale: (stale: readonly (Stale | undefined)[]) => log.write(stale),
    /** `sentAt`: by this thread's `performance.now()`. */
    onReceived: (sentAt: number) => {
      memory.receivedAt[0] = sentAt + sinceBootMs;
    },
  };
}
