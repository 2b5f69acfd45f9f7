/** The timer of a virtual object: a delayed call to itself, which survives the end of the process. */
import { type ObjectContext, type ObjectSharedContext, rpc } from "@restatedev/restate-sdk";

/** `Timer`: what is stored of the current timer. An object has at most one; calls of earlier ones do nothing. */
export function durableTimer<Timer extends { generation: number }>(stateKey: string) {
  const read = (ctx: ObjectSharedContext) => ctx.get<Timer>(stateKey);
  return {
    read,
    /** The timer that made this call; null: another one has replaced it since. */
    readCurrent: async (ctx: ObjectContext, generation: number): Promise<Timer | null> => {
      const timer = await read(ctx);
      return timer?.generation === generation ? timer : null;
    },
    /** Replaces the timer `before`; `call` sends the delayed call, which carries the new generation. */
    set: (
      ctx: ObjectContext,
      { before, ...timer }: { before: Timer | null } & Omit<Timer, "generation">,
      call?: (generation: number) => void,
    ): void => {
      const generation = (before?.generation ?? 0) + 1;
      ctx.set(stateKey, { generation, ...timer });
      call?.(generation);
    },
    /** Changes what is stored of the timer: its call remains valid. */
    update: (ctx: ObjectContext, timer: Timer): void => ctx.set(stateKey, timer),
    clear: (ctx: ObjectContext) => ctx.clear(stateKey),
  };
}

/** Options of a call that is made in `delayMs`; at once when that is negative. */
export function after<Request>(delayMs: number) {
  return rpc.sendOpts<Request>({ delay: Math.max(0, delayMs) });
}
