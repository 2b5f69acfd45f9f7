/** The timer of a virtual object: a delayed call to itself, which survives whatever ends a process. */
import { type ObjectContext, type ObjectSharedContext, rpc } from "@restatedev/restate-sdk";

type Numbered = { generation: number };

/** `Timer`: what is kept of the timer that is set. At most one is; the calls of earlier ones do nothing. */
export function durableTimer<Timer extends Numbered>(stateKey: string) {
  const read = (ctx: ObjectSharedContext) => ctx.get<Timer>(stateKey);
  return {
    read,
    /** The timer whose call has come; null: another one has replaced it since. */
    readCurrent: async (ctx: ObjectContext, generation: number): Promise<Timer | null> => {
      const timer = await read(ctx);
      return timer?.generation === generation ? timer : null;
    },
    /** Replaces the one `before`; `call` sends what comes when it is due, by its generation. */
    set: (
      ctx: ObjectContext,
      { before, ...timer }: { before: Timer | null } & Omit<Timer, "generation">,
      call?: (generation: number) => void,
    ): void => {
      const generation = (before?.generation ?? 0) + 1;
      ctx.set(stateKey, { ...timer, generation });
      call?.(generation);
    },
    clear: (ctx: ObjectContext) => ctx.clear(stateKey),
  };
}

/** Options of a call that comes `delayMs` from now; at once when that has passed. */
export function after<Request>(delayMs: number) {
  return rpc.sendOpts<Request>({ delay: Math.max(0, delayMs) });
}
