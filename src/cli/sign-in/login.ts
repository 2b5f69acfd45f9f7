/** `vedette login`: a session in one's own name, kept for further commands. */
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { requireFile, saveSession } from "#cli/saved-session.ts";
import { findUrl } from "#cli/target.ts";
import type { SessionAnswer } from "#control/sign-in/contract.ts";
import { signInByBrowser } from "./by-browser.ts";
import { signInByCode } from "./by-code.ts";
import { makeSecret } from "./secret.ts";

type LoginOptions = GlobalOptions & { device?: boolean; port?: number; browser: boolean };

export async function login(options: LoginOptions): Promise<number> {
  const url = findUrl(options, process.env);
  // Before somebody signs in for nothing.
  requireFile(url, process.env);
  const secret = makeSecret();
  const { device = false, port, browser } = options;
  const signedIn = device
    ? await signInByCode(url, secret)
    : await signInByBrowser(url, secret, { port, opensBrowser: browser });
  const { token, actor, ends_at } = signedIn;
  saveSession({ url, token, actor, ends_at }, process.env);
  report(url, signedIn, options);
  return 0;
}

/** The token itself is never printed. */
function report(url: string, signedIn: SessionAnswer, { json }: LoginOptions): void {
  const { actor, roles, ends_at } = signedIn;
  if (json) printJson({ url, actor, roles, ends_at });
  else print(`signed in at ${url} as ${actor}, who may ${roles.join(", ")}, until ${ends_at}`);
  if (process.env["INGRESS_TOKEN"]) {
    complain("INGRESS_TOKEN is set: commands use that token, and not this session");
  }
}
