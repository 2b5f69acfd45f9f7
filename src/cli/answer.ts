/** Reads the answer to a call within limits: the address may be that of any server. */
import type { Dispatcher } from "undici";
import { readBody } from "#kernel/body.ts";

type Body = Dispatcher.ResponseData["body"];

export type AnswerLimits = {
  /** Timeout of the whole body, from its first byte. */
  withinMs: number;
  bytes: number;
};

const mib = 1024 * 1024;

/** A list of checks with their results may be long; a fleet is read in pages. */
export const answerLimits: AnswerLimits = { withinMs: 60_000, bytes: 64 * mib };

/** The answer is not from Vedette; retrying does not help. */
export class OversizeError extends Error {}

/** The text of an answer. Throws `OversizeError`, or another error when the answer does not end in time. */
export async function readAnswer(body: Body, limits: AnswerLimits): Promise<string> {
  const late = new Error("the answer does not end");
  const timer = setTimeout(() => body.destroy(late), limits.withinMs);
  try {
    const whole = await readBody(body, limits.bytes);
    if (whole === undefined) throw tooLarge(limits);
    return whole.toString();
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge({ bytes }: AnswerLimits): OversizeError {
  return new OversizeError(
    `the answer is larger than ${bytes / mib} MiB: is the address that of control?`,
  );
}
