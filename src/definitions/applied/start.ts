/** Applies the definitions of a start through Restate, where every change of them goes. */
import pRetry, { AbortError } from "p-retry";
import {
  type ApplyAnswer,
  definitionsHandlers,
  definitionsKey,
  definitionsService,
} from "#definitions/contract.ts";
import type { StartRequest } from "#definitions/internal.ts";
import { CallRefusedError, callRestate, patience } from "#kernel/ingress.ts";
import type { Log } from "#kernel/log.ts";

type Start = {
  /** Restate's own. */
  ingressUrl: string;
  /** undefined: this start applies nothing. */
  request: StartRequest | undefined;
  log: Log;
};

/** Throws when Restate accepts the call not within half a minute, or refuses it. */
export async function startDefinitions({ ingressUrl, request, log }: Start): Promise<void> {
  const to = (handler: string) => ({
    ingressUrl,
    path: `/${definitionsService}/${definitionsKey}/${handler}`,
  });
  if (request === undefined) {
    await pRetry(() => call(to("finish"), {}), patience.start);
    return;
  }
  const answer = await pRetry(() => call(to("start"), request), patience.start);
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
async function call(at: { ingressUrl: string; path: string }, request: object): Promise<string> {
  try {
    return await callRestate(at, request);
  } catch (cause) {
    const message = `the definitions are not applied: ${(cause as Error).message}`;
    // Another attempt of a call that was refused would be refused as well.
    if (cause instanceof CallRefusedError && cause.isFinal) throw new AbortError(message);
    throw new Error(message, { cause });
  }
}
