/** The optional call of the HTTP protocol that reads a log (docs/fleets.md, "Your own fleet"). */
import { isPage, readBeginning, readEnd } from "#kernel/body.ts";
import { type Dispatcher, request } from "#kernel/http.ts";
import { maxRawLog } from "#kernel/log.ts";
import { type LogPart, reachEnd } from "./calls.ts";
import type { LogTail } from "./driver.ts";

/** A fleet may answer the whole log. */
const maxRead = 4_194_304;

export type LogRequest = {
  url: string;
  token: string;
  lines: number;
  signal: AbortSignal;
  dispatcher: Dispatcher;
};

/** Reads the log until its end or the signal: the part that came until then counts. Throws undici's errors. */
export function readFleetLog(asked: LogRequest, deployId: string | undefined): Promise<LogTail> {
  return reachEnd(asked, (call) => readOnce({ ...asked, ...call }, deployId));
}

async function readOnce(
  { url, token, lines, signal, dispatcher }: LogRequest,
  deployId: string | undefined,
): Promise<LogPart> {
  const query = new URLSearchParams({
    lines: String(lines),
    ...(deployId !== undefined && { deploy_id: deployId }),
  });
  const { statusCode, body } = await request(`${url}?${query}`, {
    dispatcher,
    signal,
    headers: { authorization: `Bearer ${token}`, accept: "text/plain" },
  });
  if (statusCode !== 200) {
    await readBeginning(body, 4_096);
    return { tail: { absent: refusalOf(statusCode) }, stop: "end" };
  }
  const { end, stop } = await readEnd(body, { keepBytes: maxRawLog, maxBytes: maxRead });
  const text = end.toString();
  return { tail: isPage(text) ? { absent: "the fleet answered a web page" } : { text }, stop };
}

function refusalOf(status: number): string {
  return [204, 404, 405, 410, 501].includes(status)
    ? "the fleet has no log of it"
    : `the fleet answered ${status}`;
}
