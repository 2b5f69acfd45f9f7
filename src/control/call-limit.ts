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

/** True for calls that stop a rollout, which are never refused. */
export function isStop(path: string): boolean {
  return /\/(?:Cancel|Pause)(?:\/send)?$/.test(path);
}

/** A call that goes on although its caller is gone, or that was sent, counts for `heldMs` after its end. */
export function createCallLimit(heldMs: number) {
  const limitReads = createOpenLimit({ heldMs });
  const limitWrites = createOpenLimit({ heldMs, most: mostWrites, of: "calls" });
  const limitOthers = createOpenLimit({ heldMs, of: "calls" });
  return <Answer>(call: LimitedCall, run: () => Promise<Answer>): Promise<Answer> => {
    const { reader, signal } = call;
    const isSent = isSend(call.path);
    const path = call.path.replace(/\/send$/, "");
    const counted = { reader, signal, isSent };
    if (call.isRead) return limitReads({ ...counted, about: isSent ? "send" : "" }, run);
    if (isStop(path)) return run();
    if (fleetOf(path) !== undefined) return limitWrites({ ...counted, about: path }, run);
    return limitOthers({ ...counted, about: handlerOf(path) }, run);
  };
}

/** The path without the id of a check or sentinel: a caller may name any. */
function handlerOf(path: string): string {
  const [, service, ...rest] = path.split("/");
  return `${service}/${rest.at(-1)}`;
}
