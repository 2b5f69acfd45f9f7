/** `vedette logout`: ends the session at `control`, and deletes it here. */
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { deleteSession, hasEnded, readSession, type SavedSession } from "#cli/saved-session.ts";
import { findUrl } from "#cli/target.ts";
import { formatUtc } from "#kernel/time.ts";
import { endSession } from "./end-session.ts";

/** Exit code 1: the session is deleted here, but `control` could not be notified, and still accepts it. */
export async function logout(options: GlobalOptions): Promise<number> {
  const url = findUrl(options, process.env);
  const session = readOrDiscard(url);
  deleteSession(url, process.env);
  const isTold =
    session === undefined ||
    hasEnded(session, Date.now()) ||
    (await endSession(url, session.token));
  const actor = session?.actor ?? null;
  printAnswer({ url, actor, ended: isTold }, options.json, () =>
    actor === null ? `nobody is signed in at ${url}` : `signed out ${actor} at ${url}`,
  );
  if (isTold) return 0;
  complain(
    `${url} could not be notified: the session is deleted here, and stays valid there until ${formatUtc(session.ends_at)}`,
  );
  return 1;
}

/** Returns undefined for a damaged session: its file is deleted like any other, and it ends by itself. */
function readOrDiscard(url: string): SavedSession | undefined {
  try {
    return readSession(url, process.env);
  } catch (error) {
    complain((error as Error).message.replace(": run `vedette login`", ": it is deleted"));
    return undefined;
  }
}
