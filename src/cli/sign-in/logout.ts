/** `vedette logout`: ends the session at `control`, and deletes it here. */
import { z } from "zod";
import { ConnectionError } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { deleteSession, hasEnded, readSession } from "#cli/saved-session.ts";
import { findUrl } from "#cli/target.ts";
import { askControl, Refusal } from "./ask-control.ts";

/** Exit code 1: the session is deleted here, but `control` could not be told, for which it goes on. */
export async function logout(options: GlobalOptions): Promise<number> {
  const url = findUrl(options, process.env);
  const session = readSession(url, process.env);
  if (session !== undefined) deleteSession(url, process.env);
  const isTold =
    session === undefined || hasEnded(session, Date.now()) || (await tell(url, session.token));
  const actor = session?.actor ?? null;
  if (options.json) printJson({ url, actor, ended: isTold });
  else print(actor === null ? `nobody is signed in at ${url}` : `signed out ${actor} at ${url}`);
  if (isTold) return 0;
  complain(
    `${url} did not answer: the session, which is deleted here, ends there at ${session.ends_at}`,
  );
  return 1;
}

async function tell(url: string, token: string): Promise<boolean> {
  try {
    await askControl(url, { method: "DELETE", path: "session", token }, z.null());
    return true;
  } catch (error) {
    if (error instanceof ConnectionError) return false;
    // It has ended there already.
    if (error instanceof Refusal && error.status === 401) return true;
    throw error;
  }
}
