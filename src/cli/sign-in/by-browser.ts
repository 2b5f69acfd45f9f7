/** Signs in by a browser on this machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { complain } from "#cli/print.ts";
import type { Secret } from "#cli/token.ts";
import { BeginAnswer, SessionAnswer } from "#control/sign-in/contract.ts";
import { askControl } from "./ask-control.ts";
import { type CallbackServer, openCallbackServer } from "./callback-server.ts";

type BrowserOptions = { port: number | undefined; opensBrowser: boolean };

/** Throws when nobody has signed in before `control` forgets the attempt. */
export async function signInByBrowser(
  url: string,
  secret: Secret,
  { port, opensBrowser }: BrowserOptions,
): Promise<SessionAnswer> {
  const server = await openCallbackServer(port);
  try {
    const body = { redirect_uri: server.redirectUri, challenge: secret.challenge };
    const begun = await askControl(url, { method: "POST", path: "begin", body }, BeginAnswer);
    const { provider, authorization_url: address } = begun;
    complain(
      `To sign in at ${provider}, open this address in a browser on this machine:\n\n${address}\n`,
    );
    if (opensBrowser && process.stderr.isTTY === true) void openBrowser(address);
    return await finish(server, { url, secret, begun });
  } finally {
    server.close();
  }
}

type Attempt = { url: string; secret: Secret; begun: BeginAnswer };

async function finish(
  server: CallbackServer,
  { url, secret, begun }: Attempt,
): Promise<SessionAnswer> {
  const { state, flow, expires_in } = begun;
  const late = new AbortController();
  const tooLate = new Error(`nobody has signed in within ${Math.round(expires_in / 60)} minutes`);
  const timer = setTimeout(() => late.abort(tooLate), expires_in * 1_000);
  try {
    const { query, answer } = await server.wait(state, late.signal);
    const body = { flow, verifier: secret.verifier, query };
    const asked = askControl(url, { method: "POST", path: "finish", body }, SessionAnswer);
    const signedIn = await asked.catch((error: Error) => {
      answer(`You are not signed in. ${error.message}`);
      throw error;
    });
    answer(`You are signed in as ${signedIn.actor}. Close this page, and go back to the terminal.`);
    return signedIn;
  } finally {
    clearTimeout(timer);
  }
}

/** False: the machine has no program for that. All users of the machine can read the address while it starts. */
export function openBrowser(address: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [address], { stdio: "ignore", detached: true });
  child.unref();
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}
