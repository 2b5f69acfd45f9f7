/** Sends requests to registries, with limits of time and size, and follows redirects. */
import { within } from "#kernel/async.ts";
import { readBody } from "#kernel/body.ts";
import { type Dispatcher, request as requestHttp } from "#kernel/http.ts";
import { ClosedAddressError, type Reach } from "#kernel/reach.ts";
import { readRetryAfter } from "#kernel/time.ts";
import { isPlainHttp, RegistryTrouble, refuse, TooLarge } from "./image-name.ts";

/** Limit of a whole request. */
const timeoutMs = 5_000;
/** Registries take manifests of up to 4 MiB (OCI distribution specification, "Pushing manifests"). */
const largestAnswer = 4 * 1_024 * 1_024;
const mostRedirects = 5;

export type RegistryRequest = {
  method: Dispatcher.HttpMethod;
  address: URL;
  headers: Record<string, string>;
  body?: string;
  /** Ends it before its own limit of time. */
  signal?: AbortSignal | undefined;
};

export type Answer = {
  status: number;
  /** The value of a header; undefined when it is absent. */
  header: (name: string) => string | undefined;
  headers: (name: string) => string[];
  body: Buffer;
  /** Address of the host that answered: after a redirect another one than that of the request. */
  address: URL;
};

/** Throws a `ProblemError` for a closed address, `RegistryTrouble` without an answer: with the host, no secret. */
export async function send(request: RegistryRequest, reach: Reach): Promise<Answer> {
  const { address, signal: given, ...options } = request;
  const signal = within(timeoutMs, given);
  try {
    const answer = await requestHttp(address, { ...options, signal, dispatcher: reach.agent });
    const body = await readBody(answer.body, largestAnswer);
    if (body === undefined) throw new TooLarge(`too large an answer from ${address.host}`);
    const headers = (name: string) => [answer.headers[name] ?? []].flat();
    const header = (name: string) => headers(name)[0];
    return { status: answer.statusCode, header, headers, body, address };
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    if (error instanceof ClosedAddressError) throw refuseClosed(address.host, error);
    throw new RegistryTrouble(`${describeFailure(error)} from ${address.host}`);
  }
}

function refuseClosed(host: string, { message, cause }: ClosedAddressError) {
  const hint =
    "; name the host in registry.allowed, registry.insecure or registry.token_hosts if that is intended";
  return refuse("image_not_allowed", `${host}: ${message}${cause === undefined ? hint : ""}`);
}

function describeFailure(error: unknown): string {
  const { name, code } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" ? `no answer in ${timeoutMs / 1_000} s` : String(code ?? name);
}

const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a request and follows redirects, because registries store their content on other hosts. Only the
 * original host gets the authorization. Throws a `ProblemError` for a redirect to plain http, unless that is
 * allowed for the host, and `RegistryTrouble` for too many redirects.
 */
export async function sendFollowing(
  request: RegistryRequest,
  { insecure, reach }: { insecure: readonly string[]; reach: Reach },
): Promise<Answer> {
  let next = request;
  for (let hops = 0; hops <= mostRedirects; hops++) {
    const answer = await send(next, reach);
    const location = answer.header("location");
    if (!redirects.has(answer.status) || location === undefined) return answer;
    next = redirect(next, location, insecure);
  }
  throw new RegistryTrouble(`more than ${mostRedirects} redirects from ${request.address.host}`);
}

export function redirect(
  request: RegistryRequest,
  location: string,
  insecure: readonly string[],
): RegistryRequest {
  const { host } = request.address;
  const address = URL.parse(location, request.address);
  const isHttps = address?.protocol === "https:";
  // A hostile registry could lead us to services of this machine, which are plain http: therefore only a
  // registry that is plain http itself may redirect to plain http.
  const isPlain =
    address?.protocol === "http:" &&
    request.address.protocol === "http:" &&
    isPlainHttp(address.host, insecure);
  if (address === null || !(isHttps || isPlain)) {
    throw refuse("registry_unavailable", `the registry ${host} redirects to an unsafe address`);
  }
  if (address.origin === request.address.origin) return { ...request, address };
  const { authorization: _kept, ...headers } = request.headers;
  return { ...request, address, headers };
}

/** Throws `RegistryTrouble` for the statuses after which a retry makes sense: 408, 429, 5xx. */
export function throwTrouble({ status, header, address }: Answer): void {
  if (status !== 408 && status !== 429 && status < 500) return;
  const afterMs = readRetryAfter(header("retry-after"), Date.now());
  throw new RegistryTrouble(`status ${status} from ${address.host}`, afterMs);
}
