/** `vedette whoami`: in whose name commands act. */
import type { GlobalOptions } from "#cli/options.ts";
import { print, printJson } from "#cli/print.ts";
import { findTarget, tokenRefused } from "#cli/target.ts";
import { WhoAmI } from "#control/sign-in/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatUtc } from "#kernel/time.ts";
import { askControl } from "./ask-control.ts";

export async function whoAmI(options: GlobalOptions): Promise<number> {
  const target = findTarget(options, process.env);
  const { url, token } = target;
  const question = { method: "GET", path: "session", token } as const;
  const found = await askControl(url, question, WhoAmI).catch((error: unknown) => {
    const isRefused = error instanceof ProblemError && error.status === 401;
    throw isRefused ? tokenRefused(target) : error;
  });
  const { actor, roles, by, ends_at } = found;
  if (options.json) {
    printJson({ url, actor, roles, by, ends_at });
    return 0;
  }
  const how = ends_at === null ? `by a ${by}` : `by a ${by}, until ${formatUtc(ends_at)}`;
  print(`${actor} may ${roles.join(", ")} at ${url} (${how})`);
  return 0;
}
