/** Sends requests about images to their registries, and authenticates when those require it. */
import { createReach, type OwnService, type Reach } from "#kernel/reach.ts";
import { type Challenge, parseChallenges } from "./challenge.ts";
import type { RegistryConfig } from "./config.ts";
import type { FindCredential } from "./credentials.ts";
import { type Answer, type RegistryRequest, sendFollowing } from "./exchange.ts";
import { type ImageName, isPlainHttp } from "./image-name.ts";
import { basicAuthorization, createTokenSource, type TokenSource } from "./token.ts";

/**
 * Sends one request about an image; `path` is what comes after the repository: `manifests/v1`. Throws a
 * `ProblemError` for final errors, and `RegistryTrouble` when there is no answer. The status is the caller's to judge.
 */
export type Exchange = (request: {
  method: "HEAD" | "GET";
  path: string;
  accept?: string;
}) => Promise<Answer>;

/** Opens an exchange for one image; later requests reuse the authorization of the first one. `signal` ends them all. */
export type RegistryClient = (image: ImageName, signal?: AbortSignal) => Exchange;

type Settings = Pick<RegistryConfig, "allowed" | "insecure" | "token_hosts">;

export function createRegistryClient(
  settings: Settings,
  findCredential: FindCredential,
  services: readonly OwnService[] = [],
): RegistryClient {
  const { insecure, token_hosts: tokenHosts } = settings;
  const allowedHosts = settings.allowed.map((entry) => entry.split("/")[0] ?? "");
  const named = [...allowedHosts, ...insecure, ...tokenHosts];
  const closed = ["metadata", "loopback"] as const;
  const reach = createReach({ services, closed, named: () => named, closedIfNamed: [] });
  const tokens = createTokenSource({ insecure, tokenHosts, reach });
  return (image, signal) =>
    createExchange({ image, insecure, reach, tokens, findCredential, signal });
}

type ExchangeParts = {
  image: ImageName;
  insecure: readonly string[];
  reach: Reach;
  tokens: TokenSource;
  findCredential: FindCredential;
  signal: AbortSignal | undefined;
};

function createExchange(parts: ExchangeParts): Exchange {
  let authorization: string | undefined;
  return async ({ method, path, accept }) => {
    const address = addressOf(parts, path);
    const send = () => {
      const headers = {
        ...(accept !== undefined && { accept }),
        ...(authorization !== undefined && { authorization }),
      };
      const request: RegistryRequest = { method, address, headers, signal: parts.signal };
      return sendFollowing(request, parts);
    };
    const first = await send();
    if (!isRefused(first)) return first;
    return negotiate(first, parts, (attempt) => {
      authorization = attempt;
      return send();
    });
  };
}

function addressOf({ image, insecure }: ExchangeParts, path: string): URL {
  const scheme = isPlainHttp(image.host, insecure) ? "http" : "https";
  return new URL(`${scheme}://${image.host}/v2/${image.repository}/${path}`);
}

function isRefused({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** A registry that always has another challenge does not keep us busy. */
const mostChallenges = 6;

/**
 * Tries the challenges of a refusal one after the other, and those of the answers to them: one to a token may ask for
 * another scope. Throws the first error if none is accepted.
 */
async function negotiate(
  refusal: Answer,
  parts: ExchangeParts,
  send: (authorization: string) => Promise<Answer>,
): Promise<Answer> {
  const challenges = new Map<string, Challenge>();
  const collect = (from: Answer) => {
    // The target of a redirect is not the registry, so it gets no credentials.
    if (from.address.origin !== addressOf(parts, "").origin) return;
    for (const one of parseChallenges(from.headers("www-authenticate"))) {
      if (challenges.size < mostChallenges) challenges.set(JSON.stringify(one), one);
    }
  };
  collect(refusal);
  let [answer, failure]: [Answer, unknown] = [refusal, undefined];
  for (const challenge of challenges.values()) {
    try {
      for await (const attempt of authorizations(challenge, parts)) {
        answer = await send(attempt);
        if (!isRefused(answer)) return answer;
        collect(answer);
      }
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return answer;
}

/** The authorizations to try for a challenge: none without a credential, and a new token after a stale one. */
async function* authorizations(
  challenge: Challenge,
  { image, tokens, findCredential }: ExchangeParts,
): AsyncGenerator<string> {
  const credential = findCredential(image.registry, image.repository);
  if (challenge.scheme === "basic") {
    const authorization = credential && basicAuthorization(credential);
    if (authorization !== undefined) yield authorization;
    return;
  }
  const scope = challenge.scope || `repository:${image.repository}:pull`;
  const wanted = { host: image.host, challenge: { ...challenge, scope }, credential };
  const token = await tokens.find(wanted);
  yield `Bearer ${token.value}`;
  if (token.isCached) yield `Bearer ${(await tokens.refresh(wanted)).value}`;
}
