/** Requests to the identity provider, within limits of time and size. */
import { isLoopback } from "#kernel/address.ts";
import { readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { ClosedAddressError, createReach } from "#kernel/reach.ts";
import { within } from "#kernel/unless-aborted.ts";
import { ProviderTrouble } from "./refusals.ts";

export type FetchLimits = {
  /** Timeout of a whole request, with its answer's body. */
  timeoutMs: number;
  maxBytes: number;
};

const fetchLimits: FetchLimits = { timeoutMs: 5_000, maxBytes: 512 * 1_024 };

/** Options as the library passes them. */
type FetchOptions = {
  method: string;
  headers: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | undefined;
};

export type BoundedFetch = (url: string, options: FetchOptions) => Promise<Response>;

/**
 * Follows no redirect. Throws `ProviderTrouble`, which says what is wrong but not what was sent, also for an
 * address that the provider names and that is neither https nor, with `mayBePlain`, on this machine.
 */
export function createBoundedFetch(
  mayBePlain: boolean,
  limits = fetchLimits,
  reach = createReach(),
): BoundedFetch {
  return async (address, { method, headers, body, signal }) => {
    requireSafe(address, mayBePlain);
    try {
      const answer = await request(address, {
        method: method === "POST" ? "POST" : "GET",
        headers,
        dispatcher: reach.agent,
        ...(body !== undefined && body !== null && { body: String(body) }),
        signal: within(limits.timeoutMs, signal),
      });
      const whole = await readBody(answer.body, limits.maxBytes);
      if (whole === undefined) throw new ProviderTrouble("its answer is too large");
      return toResponse(answer, whole);
    } catch (error) {
      if (error instanceof ProviderTrouble) throw error;
      throw new ProviderTrouble(describe(error, limits));
    }
  };
}

function requireSafe(address: string, mayBePlain: boolean): void {
  const url = URL.parse(address);
  const isPlain = url?.protocol === "http:" && mayBePlain && isLoopback(url.hostname);
  if (url?.protocol === "https:" || isPlain) return;
  throw new ProviderTrouble("it names an address that is not https");
}

type Answer = { statusCode: number; headers: Record<string, string | string[] | undefined> };

const passed = ["content-type", "www-authenticate", "retry-after"];

function toResponse({ statusCode: status, headers }: Answer, body: Buffer): Response {
  if (status < 200 || status > 599) throw new ProviderTrouble(`it answered ${status}`);
  const kept = passed.flatMap((name): [string, string][] => {
    const [value] = [headers[name] ?? []].flat();
    return value === undefined ? [] : [[name, value]];
  });
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : new Uint8Array(body), { status, headers: kept });
}

function describe(error: unknown, { timeoutMs }: FetchLimits): string {
  if (error instanceof ClosedAddressError) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return `it did not answer in ${timeoutMs / 1_000} s`;
  return `it cannot be reached (${code ?? name})`;
}
