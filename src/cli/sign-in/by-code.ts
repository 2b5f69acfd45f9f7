/** Signs in by a code that is entered in a browser anywhere (RFC 8628). */
import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "#cli/answer.ts";
import { complain } from "#cli/print.ts";
import type { Secret } from "#cli/token.ts";
import { DeviceAnswer, PollAnswer, type SessionAnswer } from "#control/sign-in/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { askControl } from "./ask-control.ts";

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
    if (performance.now() > endsAtMs) throw new Error("the code has expired: begin again");
    if (poll !== undefined) intervalMs = poll.interval * 1_000;
  }
}

/**
 * undefined: there was no answer this time, for instance because `control` or the provider restarts, or because too
 * many wait behind this address.
 */
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
