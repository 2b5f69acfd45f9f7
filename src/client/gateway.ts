/** Where calls go, from the options of a client. */
import type { Gateway } from "./call.ts";

type Options = {
  url: string;
  token?: string | undefined;
  timeoutMs?: number | undefined;
  fetch?: typeof fetch | undefined;
};

/** Throws an error that says which option is wrong; none of them repeats the token. */
export function gatewayOf({ url, token, timeoutMs, fetch: send = fetch }: Options): Gateway {
  if (timeoutMs !== undefined) checkLimitMs(timeoutMs);
  return {
    url: addressOf(url),
    headers: { "content-type": "application/json", ...authorization(token) },
    send,
  };
}

/** Of a timer: a longer one would end at once. */
const longestMs = 2 ** 31 - 1;

export function checkLimitMs(limitMs: number): void {
  if (Number.isInteger(limitMs) && limitMs > 0 && limitMs <= longestMs) return;
  throw new Error(`timeoutMs is ${limitMs}: give whole milliseconds, from 1 to ${longestMs}`);
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(
      "url is no address: give that of control, such as https://rollouts.example.com",
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Error(
      "url has a user, a query or a fragment: give the address alone, and the token as token",
    );
  }
  return url.href.replace(/\/+$/, "");
}

/** A token that was read from a file often ends with a line break. */
function authorization(token: string | undefined): Record<string, string> {
  if (token === undefined) return {};
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return { authorization: `Bearer ${trimmed}` };
  throw new Error("token is empty, or has characters that no token has: give the ingress token");
}
