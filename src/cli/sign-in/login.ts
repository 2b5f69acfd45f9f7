/** `vedette login`: a session in one's own name, kept for further commands. */
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { hasEnded, prepareFile, readSession, saveSession } from "#cli/saved-session.ts";
import { findUrl } from "#cli/target.ts";
import { makeSecret } from "#cli/token.ts";
import type { SessionAnswer } from "#control/sign-in/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatUtc } from "#kernel/time.ts";
import { signInByBrowser } from "./by-browser.ts";
import { signInByCode } from "./by-code.ts";
import { endSession } from "./end-session.ts";

type LoginOptions = GlobalOptions & { device?: boolean; port?: number; browser: boolean };

export async function login(options: LoginOptions): Promise<number> {
  const url = findUrl(options, process.env);
  // Before somebody signs in for nothing.
  prepareFile(url, process.env);
  const signedIn = await signIn(url, options);
  const { token, actor, ends_at } = signedIn;
  const endEarlier = prepareEnd(url);
  saveSession({ url, token, actor, ends_at }, process.env);
  await endEarlier();
  report(url, signedIn, options);
  return 0;
}

async function signIn(url: string, { device = false, port, browser }: LoginOptions) {
  const secret = makeSecret();
  try {
    return device
      ? await signInByCode(url, secret)
      : await signInByBrowser(url, secret, { port, opensBrowser: browser });
  } catch (error) {
    // A control that is older, or has no provider, knows no such address.
    const isUnknown = error instanceof ProblemError && [401, 404].includes(error.status);
    throw isUnknown ? new Error(`signing in is not set up at ${url} (${error.message})`) : error;
  }
}

/** Of the session that is replaced here, and that nobody could end afterwards. */
function prepareEnd(url: string): () => Promise<void> {
  try {
    const earlier = readSession(url, process.env);
    if (earlier === undefined || hasEnded(earlier, Date.now())) return async () => {};
    return async () => void (await endSession(url, earlier.token).catch(() => false));
  } catch {
    // It is damaged: the new one takes its place.
    return async () => {};
  }
}

/** The token itself is never printed. */
function report(url: string, signedIn: SessionAnswer, { json }: LoginOptions): void {
  const { actor, roles, ends_at } = signedIn;
  const until = formatUtc(ends_at);
  printAnswer(
    { url, actor, roles, ends_at },
    json,
    () => `signed in at ${url} as ${actor}, who may ${roles.join(", ")}, until ${until}`,
  );
  const other = ["INGRESS_TOKEN", "INGRESS_TOKEN_FILE"].find((name) => process.env[name]);
  if (other !== undefined) complain(`${other} is set: commands use that token, not this session`);
}
