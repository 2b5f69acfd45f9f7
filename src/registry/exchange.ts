/** One request to a registry and its answer, with limits of time and size, and redirects followed. */
import { type Dispatcher, request } from "undici";
import { readRetryAfter } from "#kernel/retry-after.ts";
import { isPlainHttp } from "./image-name.ts";
import { isClosedError, type Reach, type ReachLimits, refuseClosed } from "./reach.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";

/** For one request as a whole. */
const timeoutMs = 5_000;
/** Registries take manifests of up to 4 MiB (OCI distribution specification, "Pushing manifests"). */
const largestAnswer = 4 * 1_024 * 1_024;
const mostRedirects = 5;

export const reachLimits: ReachLimits = { timeoutMs, largestAnswer };

export type Question = {
  method: Dispatcher.HttpMethod;
  address: URL;
  headers: Record<string, string>;
  body?: string;
};

export type Answer = {
  status: number;
  /** The value of a header; undefined when it is absent. */
  header: (name: string) => string | undefined;
  headers: (name: string) => string[];
  body: Buffer;
  /** Who answered: another host than was asked after a redirect. */
  address: URL;
};

/**
 * Asks once. Throws a `ProblemError` for an address that is closed, and `RegistryTrouble` when there is
 * no answer, without the address or any secret.
 */
export async function ask(question: Question, reach: Reach): Promise<Answer> {
  const { address, ...options } = question;
  const dispatcher = reach.dispatcherFor(address);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await request(address, { ...options, signal, dispatcher });
    const body = Buffer.from(await answer.body.arrayBuffer());
    const headers = (name: string) => [answer.headers[name] ?? []].flat();
    const header = (name: string) => headers(name)[0];
    return { status: answer.statusCode, header, headers, body, address };
  } catch (error) {
    if (isClosedError(error)) throw refuseClosed(address.host);
    throw new RegistryTrouble(`${describeFailure(error)} from ${address.host}`);
  }
}

function describeFailure(error: unknown): string {
  const { name, code } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" ? `no answer in ${timeoutMs / 1_000} s` : String(code ?? name);
}

const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Asks, and follows redirects: registries keep their content elsewhere. A host other than the one
 * we were told to ask never sees the authorization. Throws a `ProblemError` for a redirect to plain
 * http, unless that host may be spoken to so, and `RegistryTrouble` for a circle.
 */
export async function askFollowing(
  question: Question,
  { insecure, reach }: { insecure: readonly string[]; reach: Reach },
): Promise<Answer> {
  let next = question;
  for (let hops = 0; hops <= mostRedirects; hops++) {
    const answer = await ask(next, reach);
    const location = answer.header("location");
    if (!redirects.has(answer.status) || location === undefined) return answer;
    next = redirect(next, location, insecure);
  }
  throw new RegistryTrouble(`more than ${mostRedirects} redirects from ${question.address.host}`);
}

/** The question as it is put to where a redirect points. */
export function redirect(
  question: Question,
  location: string,
  insecure: readonly string[],
): Question {
  const { host } = question.address;
  const address = URL.parse(location, question.address);
  const isHttps = address?.protocol === "https:";
  // A stranger could make us ask this machine's own services: only a plain registry leads to a plain host.
  const isPlain =
    address?.protocol === "http:" &&
    question.address.protocol === "http:" &&
    isPlainHttp(address.host, insecure);
  if (address === null || !(isHttps || isPlain)) {
    throw refuse("registry_unavailable", `the registry ${host} redirects to an unsafe address`);
  }
  if (address.origin === question.address.origin) return { ...question, address };
  const { authorization: _kept, ...headers } = question.headers;
  return { ...question, address, headers };
}

/** Throws `RegistryTrouble` for an answer after which asking again makes sense: 408, 429, 5xx. */
export function throwTrouble({ status, header, address }: Answer): void {
  if (status !== 408 && status !== 429 && status < 500) return;
  const afterMs = readRetryAfter(header("retry-after"), Date.now());
  throw new RegistryTrouble(`status ${status} from ${address.host}`, afterMs);
}
