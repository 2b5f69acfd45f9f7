/** Sends requests about images to their registries, and authenticates when those require it. */
import { parseChallenge } from "./challenge.ts";
import type { RegistryConfig } from "./config.ts";
import type { FindCredential } from "./credentials.ts";
import { type Answer, type RegistryRequest, reachLimits, sendFollowing } from "./exchange.ts";
import { type ImageName, isPlainHttp } from "./image-name.ts";
import { createReach, type Reach } from "./reach.ts";
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

/** For one image; later requests reuse the authorization of the first one. `signal` ends them all. */
export type RegistryClient = (image: ImageName, signal?: AbortSignal) => Exchange;

type Settings = Pick<RegistryConfig, "allowed" | "insecure" | "token_hosts">;

export function createRegistryClient(
  settings: Settings,
  findCredential: FindCredential,
): RegistryClient {
  const { insecure, token_hosts: tokenHosts } = settings;
  const allowedHosts = settings.allowed.map((entry) => entry.split("/")[0] ?? "");
  const reach = createReach([...allowedHosts, ...insecure, ...tokenHosts], reachLimits);
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
    // The target of a redirect is not the registry, so it gets no credentials.
    if (first.status !== 401 || first.address.origin !== address.origin) return first;
    for await (const attempt of authorizations(first, parts)) {
      authorization = attempt;
      const answer = await send();
      if (answer.status !== 401) return answer;
    }
    return first;
  };
}

function addressOf({ image, insecure }: ExchangeParts, path: string): URL {
  const scheme = isPlainHttp(image.host, insecure) ? "http" : "https";
  return new URL(`${scheme}://${image.host}/v2/${image.repository}/${path}`);
}

/** The authorizations to try after a 401: none without a credential, and a new token after a stale one. */
async function* authorizations(
  answer: Answer,
  { image, tokens, findCredential }: ExchangeParts,
): AsyncGenerator<string> {
  const challenge = parseChallenge(answer.headers("www-authenticate"));
  const credential = findCredential(image.registry);
  if (challenge?.scheme === "basic") {
    const authorization = credential && basicAuthorization(credential);
    if (authorization !== undefined) yield authorization;
  }
  if (challenge?.scheme !== "bearer") return;
  const scope = challenge.scope || `repository:${image.repository}:pull`;
  const wanted = { host: image.host, challenge: { ...challenge, scope }, credential };
  const token = await tokens.find(wanted);
  yield `Bearer ${token.value}`;
  if (token.isCached) yield `Bearer ${(await tokens.refresh(wanted)).value}`;
}
