import { RestatePromise } from "@restatedev/restate-sdk";

/**
 * The results of what a handler has asked Restate for, in one round trip. `Promise.all` would fail the attempt, which is
 * repeated after a pause: the SDK waits for one thing at a time. Its reads of state are such promises too, although their
 * type does not say so.
 */
export function together<Results extends readonly unknown[]>(
  asked: readonly [...{ [Key in keyof Results]: Promise<Results[Key]> }],
): Promise<Results> {
  const all = RestatePromise.all(asked.map((one) => RestatePromise.resolve<unknown>(one)));
  return all as Promise<unknown> as Promise<Results>;
}
