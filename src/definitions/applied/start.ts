/** Applies the definitions of a start through Restate, where every change of them goes. */
import pRetry, { AbortError } from "p-retry";
import { z } from "zod";
import {
  type ApplyAnswer,
  definitionsHandlers,
  definitionsKey,
  definitionsService,
} from "#definitions/contract.ts";
import type { StartRequest } from "#definitions/internal.ts";
import { readBody } from "#kernel/body.ts";
import { cleanWords, type Log } from "#kernel/log.ts";
import { patience, requestRestate } from "#kernel/restate.ts";

const timeoutMs = 60_000;
const longestAnswerBytes = 16 * 1024 * 1024;

type Start = {
  /** Restate's own. */
  ingressUrl: string;
  /** undefined: this start applies nothing. */
  request: StartRequest | undefined;
  log: Log;
};

/** Throws when Restate accepts the call not within half a minute, or refuses it. */
export async function startDefinitions({ ingressUrl, request, log }: Start): Promise<void> {
  const address = `${ingressUrl}/${definitionsService}/${definitionsKey}`;
  if (request === undefined) {
    await pRetry(() => call(`${address}/finish`, {}), patience.start);
    return;
  }
  const answer = await pRetry(() => call(`${address}/start`, request), patience.start);
  noteLeft(definitionsHandlers.Apply.output.parse(JSON.parse(answer)), log);
}

function noteLeft({ changes }: ApplyAnswer, log: Log): void {
  const left = changes.filter(({ kind }) => kind === "leave");
  if (left.length === 0) return;
  log.warn(
    { rows: left.slice(0, 20).map(({ section, key }) => `${section}.${key}`), count: left.length },
    "rows that the definitions lack still run: `vedette config apply --prune` removes them",
  );
}

/** A call that comes twice changes nothing the second time. */
async function call(address: string, request: object): Promise<string> {
  const { statusCode, body } = await requestRestate(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = (await readBody(body, longestAnswerBytes))?.toString() ?? "";
  if (statusCode < 300) return text;
  const message = `the definitions are not applied: Restate answered ${statusCode} ${detailOf(text)}`;
  // Another attempt of a call that was refused would be refused as well.
  throw statusCode < 500 ? new AbortError(message) : new Error(message);
}

function detailOf(text: string): string {
  try {
    return cleanWords(z.object({ message: z.string() }).parse(JSON.parse(text)).message, 500);
  } catch {
    return "";
  }
}
