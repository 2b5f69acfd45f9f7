/** The pins of the sentinels that wait in a batch, read again every so often. */
import type { Context, RestatePromise } from "@restatedev/restate-sdk";
import { unlessLate } from "#kernel/async.ts";
import type { Event, Pinned } from "./events.ts";

/** Returns those of these sentinels that a pin holds back now. */
export type ReadPinned = (ids: readonly string[], fleet: string) => Promise<Pinned[]>;

/** The same, of the fleet of the batch. */
type ReadPinnedOf = (ids: readonly string[]) => Promise<Pinned[]>;

/** The maximal age of the pins when a deploy starts. */
const knownForMs = 30_000;
const firstRetryMs = 2_000;
const readLimitMs = 10_000;

export class PinWatch {
  readonly #ctx: Context;
  readonly #readPinned: ReadPinnedOf | undefined;
  /** A reading, or the time until the next one is due. */
  next: RestatePromise<Event> | undefined;
  areKnown: boolean;
  #wereKnown = false;
  /** The number of failed readings in a row. */
  #failures = 0;

  /** Without `readPinned` no pin holds anything back. */
  constructor(ctx: Context, readPinned: ReadPinnedOf | undefined) {
    this.#ctx = ctx;
    this.#readPinned = readPinned;
    this.areKnown = readPinned === undefined;
  }

  /** Begins to read, unless that is not due yet. */
  read(ids: readonly string[]): void {
    const readPinned = this.#readPinned;
    if (this.next !== undefined || readPinned === undefined) return;
    this.next = this.#ctx
      .run("read-pins", () => this.#readOrNull(() => readPinned(ids)))
      .map((pinned = null): Event => ({ type: "pins read", pinned }));
  }

  /** No endless retries: results of deploys must be recorded meanwhile, and a stop must be heard. */
  async #readOrNull(read: () => Promise<Pinned[]>): Promise<Pinned[] | null> {
    try {
      const late = new Error(`there was no answer within ${readLimitMs / 1_000} s`);
      return await unlessLate(read, { limitMs: readLimitMs, late });
    } catch (error) {
      const { message: detail } = error as Error;
      this.#ctx.console.warn("pins of a rollout not read", { detail });
      return null;
    }
  }

  /** Why each pinned sentinel is left out, by id; unreadable: as read before, since nobody can add a pin either. */
  takeReading(pinned: readonly Pinned[] | null): Map<string, string> {
    this.#wereKnown ||= pinned !== null;
    this.areKnown = this.#wereKnown;
    const nextMs =
      pinned === null ? Math.min(knownForMs, firstRetryMs * 2 ** this.#failures) : knownForMs;
    this.#failures = pinned === null ? this.#failures + 1 : 0;
    this.next = this.#ctx.sleep(nextMs).map((): Event => ({ type: "pins due" }));
    return new Map(pinned?.map(({ id, reason }) => [id, reason]));
  }

  /** Discards the pins, which are too old. */
  forget(): void {
    this.areKnown = false;
    this.next = undefined;
  }
}
