/** `vedette login` and `logout`: a session in one's own name, kept for further commands; and `vedette console`. */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { consoleUrlOf } from "#app/console-links.ts";
import { ConnectionError } from "#cli/answer.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import {
  deleteSession,
  hasEnded,
  prepareFile,
  readSession,
  type SavedSession,
  saveSession,
} from "#cli/saved-session.ts";
import { plain } from "#cli/table.ts";
import { dataDirOf, findTarget, findUrl, requireOwnAddress, tokenRefused } from "#cli/target.ts";
import { makeSecret, type Secret } from "#cli/token.ts";
import { ConsoleLink, consolePath, ticketMinutes } from "#console/contract.ts";
import { DeviceAnswer, PollAnswer, type SessionAnswer, WhoAmI } from "#control/sign-in/contract.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatUtc } from "#kernel/time.ts";
import { askControl, openBrowser, signInByBrowser } from "./by-browser.ts";

/** Ends a session at `control`. Returns whether it has ended there: not when `control` is away, or in trouble. */
async function endSession(url: string, token: string): Promise<boolean> {
  try {
    await askControl(url, { method: "DELETE", path: "session", token }, z.null());
    return true;
  } catch (error) {
    if (error instanceof ConnectionError) return false;
    if (error instanceof ProblemError && error.status >= 500) return false;
    // It has ended there already.
    if (error instanceof ProblemError && error.status === 401) return true;
    throw error;
  }
}

type LoginOptions = GlobalOptions & { device?: boolean; port?: number; browser: boolean };

export async function login(options: LoginOptions): Promise<number> {
  const url = findUrl(options, process.env);
  // Whoever answers there gets the provider's code, which is as good as a token.
  requireOwnAddress(url, options, process.env);
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

/** Prepares the end of the session that is replaced here: nobody could end it afterwards. */
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

/** Throws when the person refuses, or when the code has expired. */
export async function signInByCode(url: string, secret: Secret): Promise<SessionAnswer> {
  const { challenge } = secret;
  const begin = { method: "POST", path: "device", body: { challenge } } as const;
  const begun = await askControl(url, begin, DeviceAnswer);
  complain(instructionsOf(begun));
  const endsAtMs = performance.now() + begun.expires_in * 1_000;
  let intervalMs = begun.interval * 1_000;
  for (;;) {
    await delay(intervalMs);
    const poll = await askOnce(url, { flow: begun.flow, verifier: secret.verifier });
    if (poll?.signed_in) return poll.signed_in;
    if (performance.now() > endsAtMs) throw new Error("the code has expired: sign in again");
    if (poll !== undefined) intervalMs = poll.interval * 1_000;
  }
}

/** undefined: no answer this time, as `control` or the provider restarts, or too many wait behind this address. */
function askOnce(url: string, body: { flow: string; verifier: string }) {
  const poll = { method: "POST", path: "device/poll", body } as const;
  return askControl(url, poll, PollAnswer).catch((error: unknown) => {
    const isForNow = error instanceof ProblemError && [429, 503].includes(error.status);
    if (isForNow || error instanceof ConnectionError) return undefined;
    throw error;
  });
}

function instructionsOf(begun: DeviceAnswer): string {
  const { provider, verification_uri, user_code, complete_uri } = begun;
  return [
    `To sign in at ${provider}, open ${verification_uri} in a browser and enter this code:`,
    "",
    `  ${user_code}`,
    "",
    ...(complete_uri === null ? [] : [`or open ${complete_uri}`, ""]),
    "Only enter a code that you have asked for yourself.",
  ].join("\n");
}

// `vedette logout`: ends the session at `control`, and deletes it here.

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

/** `vedette whoami`: in whose name commands act. */
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

export async function printConsole(options: GlobalOptions & { open?: boolean }): Promise<number> {
  const { url, token } = findTarget(options, process.env);
  const question = { method: "POST", under: `${consolePath}/api`, path: "session/link" } as const;
  const link = await askControl(url, { ...question, body: { token } }, ConsoleLink);
  const { href } = new URL(consoleUrlOf(link.public_url || url));
  const address = link.ticket === null ? href : `${href}#ticket=${link.ticket}`;
  if (options.json) printJson({ url: address, signs_in: link.ticket !== null });
  else print(address);
  complain(describe(link));
  if (options.open !== true) return 0;
  const opened = link.ticket === null ? address : writePage(address, options);
  if (await openBrowser(opened)) return 0;
  complain("this machine cannot open a browser: open the address yourself");
  return 1;
}

function describe({ ticket, provider }: ConsoleLink): string {
  if (ticket !== null) return `signs in once, within ${ticketMinutes} minutes`;
  if (provider !== null) return `sign in there at ${plain(provider)}, or with a token`;
  return "sign in there with the token that this command has used";
}

/** A page of the owner's alone that leads to the address, which would otherwise be in the list of processes. */
function writePage(address: string, options: GlobalOptions): string {
  const dataDir = path.resolve(dataDirOf(options, process.env));
  // Browsers in a sandbox may not read the temporary directory, but do read what is below the home directory.
  const dir = existsSync(dataDir) ? dataDir : mkdtempSync(path.join(tmpdir(), "vedette-"));
  const file = path.join(dir, "console.html");
  const to = `<meta http-equiv="refresh" content="0;url=${address}">`;
  writeFileAtomically(file, `<!doctype html><meta charset="utf-8">${to}\n`);
  return file;
}
