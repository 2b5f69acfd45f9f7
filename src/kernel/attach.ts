/** Waits for the end of another invocation, also of one that was killed. */
import {
  CancelledError,
  type Context,
  InvocationIdParser,
  type ObjectSharedContext,
  RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";

type AnyContext = Context | ObjectSharedContext;

/**
 * The result of the invocation, or that of `lost`, called with the reason when it ended without one; or what `sooner`
 * resolves with before.
 */
export async function attachOrLost<Result>(
  ctx: AnyContext,
  invocation: string,
  { lost, sooner }: { lost: (reason: string) => Promise<Result>; sooner?: RestatePromise<Result> },
): Promise<Result> {
  const end = ctx.invocation(InvocationIdParser.fromString(invocation)).attach<Result>();
  try {
    return await (sooner === undefined ? end : RestatePromise.race([end, sooner]));
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    return lost(error.message);
  }
}

/** `result` is absent when the invocation ended without one: then `failure` says why. */
export type InvocationEnd<Result> = { result?: Result; failure?: string };

/** Returns how the invocations ended; undefined: some are still running after `withinMs`. */
export async function endsWithin<Result>(
  ctx: AnyContext,
  invocations: readonly string[],
  withinMs: number,
): Promise<InvocationEnd<Result>[] | undefined> {
  const ends = invocations.map((id) =>
    ctx
      .invocation(InvocationIdParser.fromString(id))
      .attach<Result>()
      .map(
        (result, failure): InvocationEnd<Result> =>
          failure === undefined ? { result: result as Result } : { failure: failure.message },
      ),
  );
  const timeout = ctx.sleep(withinMs).map(() => undefined);
  return RestatePromise.race([RestatePromise.all(ends), timeout]);
}
