/** Limits the calls that a caller has open at a time: thousands would hold up somebody else's, or a Cancel. */
import { createOpenLimit } from "#kernel/open-limit.ts";
import { fleetOf, isSend } from "./routes.ts";

type LimitedCall = {
  path: string;
  /** The caller's name. */
  reader: string;
  isRead: boolean;
  signal?: AbortSignal;
};

/** Calls that change a rollout queue for its lock; each handler of each fleet has its own number. */
const mostWrites = 20;

/** Matches calls that stop a rollout, which are never refused. */
const stops = /\/(?:Cancel|Pause)$/;

/** A call that goes on although its caller is gone, or that was sent, counts for `heldMs` after its end. */
export function createCallLimit(heldMs: number) {
  const limitReads = createOpenLimit({ heldMs });
  const limitWrites = createOpenLimit({ heldMs, most: mostWrites, of: "calls" });
  return <Answer>(call: LimitedCall, run: () => Promise<Answer>): Promise<Answer> => {
    const { path, reader, signal } = call;
    const isSent = isSend(path);
    if (call.isRead) return limitReads({ reader, signal, isSent, about: isSent ? path : "" }, run);
    const about = path.replace(/\/send$/, "");
    if (fleetOf(about) === undefined || stops.test(about)) return run();
    return limitWrites({ reader, signal, isSent, about }, run);
  };
}
