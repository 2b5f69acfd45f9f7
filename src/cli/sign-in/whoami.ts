/** `vedette whoami`: in whose name commands act. */
import type { GlobalOptions } from "#cli/options.ts";
import { print, printJson } from "#cli/print.ts";
import { findTarget, sessionEnded } from "#cli/target.ts";
import { WhoAmI } from "#control/sign-in/contract.ts";
import { askControl, Refusal } from "./ask-control.ts";

export async function whoAmI(options: GlobalOptions): Promise<number> {
  const { url, token, isSession = false } = findTarget(options, process.env);
  const question = { method: "GET", path: "session", token } as const;
  const found = await askControl(url, question, WhoAmI).catch((error: unknown) => {
    const isOver = isSession && error instanceof Refusal && error.status === 401;
    throw isOver ? new Error(sessionEnded(url)) : error;
  });
  const { actor, roles, by, ends_at } = found;
  if (options.json) {
    printJson({ url, actor, roles, by, ends_at });
    return 0;
  }
  const how = ends_at === null ? `by a ${by}` : `by a ${by}, until ${ends_at}`;
  print(`${actor} may ${roles.join(", ")} at ${url} (${how})`);
  return 0;
}
