/** Calls to a fleet, as every driver makes them: still wanted when they are sent, and answered as they should be. */
import type { z } from "zod";
import type { BodyEnd } from "#kernel/body.ts";
import { DecoratorHandler, type Dispatcher } from "#kernel/http.ts";
import { type LogCall, type LogTail, UnreachableError, UnwantedError } from "./driver.ts";

/** Checks, once there is a connection and right before the first byte, whether the order is still wanted. */
export function checkWanted(isWanted: () => boolean): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const asking: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    asking.onRequestStart = (controller, context) => {
      if (isWanted()) handler.onRequestStart?.(controller, context);
      else controller.abort(new UnwantedError("the order is no longer wanted"));
    };
    return dispatch(options, asking);
  };
}

/** The body as this schema has it. Throws `UnreachableError`; `what` names the answer. */
export function parseAs<Value>(schema: z.ZodType<Value>, body: unknown, what: string): Value {
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data as Value;
  throw malformed(what, error.issues[0]?.path.join(".") || "body");
}

export function malformed(what: string, where: string): UnreachableError {
  return new UnreachableError(`unreachable: ${what} is malformed at ${where}`);
}

export type LogPart = { tail: LogTail; stop: BodyEnd["stop"] };

const fewer = [10, 1];

/** Asks for fewer lines while a limit of bytes cuts them off. Throws what the first `read` throws; one signal for all. */
export async function reachEnd(
  call: LogCall,
  read: (call: LogCall) => Promise<LogPart>,
): Promise<LogTail> {
  const { tail, stop } = await read(call);
  if (stop !== "limit" || tail.absent !== undefined) return tail;
  for (const lines of fewer.filter((count) => count < call.lines)) {
    if (call.signal.aborted) break;
    const next = await read({ ...call, lines }).catch(() => undefined);
    if (next === undefined || next.tail.absent !== undefined || next.stop === "error") break;
    if (next.stop === "end" && next.tail.text !== "") return next.tail;
  }
  return { ...tail, note: notReached };
}

const notReached = "the end of the log was not reached: its lines are too long";
