/** Asks a registry for the digest of an image (OCI distribution specification, "Pulling manifests"). */
import { createHash } from "node:crypto";
import { type Challenge, parseChallenge } from "./challenge.ts";
import type { FindCredential } from "./credentials.ts";
import { type Answer, type RegistryRequest, sendFollowing, throwTrouble } from "./exchange.ts";
import { type ImageName, isPlainHttp } from "./image-name.ts";
import type { Reach } from "./reach.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";
import { basicAuthorization, createTokenSource, type TokenSource } from "./token.ts";

/** Always all four: a registry answers 404 when the image has a kind of manifest that is not accepted. */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

export type ManifestSettings = {
  findCredential: FindCredential;
  insecure: readonly string[];
  tokenHosts: readonly string[];
  reach: Reach;
};

export type ReadDigest = (image: ImageName, reference: string) => Promise<string>;

/**
 * Reads the current digest (`sha256:…`) of `reference`, a tag or digest of the image. Throws a `ProblemError`
 * for final errors, and `RegistryTrouble` for those that may be temporary.
 */
export function createReadDigest(settings: ManifestSettings): ReadDigest {
  const tokens = createTokenSource(settings);
  return async (image, reference) => {
    const address = addressOf(image, reference, settings.insecure);
    const exchange = createExchange({ image, settings, tokens });
    const head = await exchange({ method: "HEAD", address, headers: { accept } });
    // 405: the registry doesn't support HEAD, so we read the whole manifest.
    if (head.status !== 405) judge(head, image);
    const digest = readDigestHeader(head);
    if (digest !== undefined) return digest;
    const whole = await exchange({ method: "GET", address, headers: { accept } });
    judge(whole, image);
    return readDigestHeader(whole) ?? computeDigest(whole, image);
  };
}

function addressOf(image: ImageName, reference: string, insecure: readonly string[]): URL {
  const scheme = isPlainHttp(image.host, insecure) ? "http" : "https";
  return new URL(`${scheme}://${image.host}/v2/${image.repository}/manifests/${reference}`);
}

/** Ignores other algorithms than sha256, which is what all later steps expect. */
function readDigestHeader({ status, header }: Answer): string | undefined {
  const digest = status === 200 ? header("docker-content-digest") : undefined;
  return digest !== undefined && /^sha256:[a-f0-9]{64}$/.test(digest) ? digest : undefined;
}

/** Throws when the body is not a manifest: many web servers answer 200 to every request. */
function computeDigest({ body }: Answer, image: ImageName): string {
  const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
  if (!isManifest(body)) {
    const detail = `the answer of ${image.registry} for ${image.tagged} is not an image manifest`;
    throw refuse("registry_unavailable", `${detail}; check that it is a registry`);
  }
  if (image.digest === undefined || image.digest === digest) return digest;
  throw new RegistryTrouble(`the content does not match ${image.digest}`);
}

/** Every kind of manifest and index has a `schemaVersion`. */
function isManifest(body: Buffer): boolean {
  try {
    return typeof JSON.parse(body.toString()).schemaVersion === "number";
  } catch {
    return false;
  }
}

type ExchangeParts = { image: ImageName; settings: ManifestSettings; tokens: TokenSource };

/** Sends requests and authenticates when the registry requires it; later requests reuse the authorization. */
function createExchange(parts: ExchangeParts): (request: RegistryRequest) => Promise<Answer> {
  let authorization: string | undefined;
  return async (request) => {
    const send = () => {
      const added = authorization === undefined ? {} : { authorization };
      const headers = { ...request.headers, ...added };
      return sendFollowing({ ...request, headers }, parts.settings);
    };
    const first = await send();
    // The target of a redirect is not the registry, so it gets no credentials.
    if (first.status !== 401 || first.address.origin !== request.address.origin) return first;
    for await (const attempt of authorizations(first, parts)) {
      authorization = attempt;
      const answer = await send();
      if (answer.status !== 401) return answer;
    }
    return first;
  };
}

/** The authorizations to try after a 401: none without a credential, and a new token after a stale one. */
async function* authorizations(answer: Answer, parts: ExchangeParts): AsyncGenerator<string> {
  const { image, settings, tokens } = parts;
  const challenge: Challenge | undefined = parseChallenge(answer.headers("www-authenticate"));
  const credential = settings.findCredential(image.registry);
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

function judge(answer: Answer, image: ImageName): void {
  const { status } = answer;
  if (status === 200) return;
  if (status === 404) {
    const detail = `${image.tagged}${image.digest === undefined ? "" : `@${image.digest}`}`;
    throw refuse("image_not_found", `${detail} does not exist in its registry; push it first`);
  }
  if (status === 401 || status === 403) {
    // Many registries answer this also for a name that does not exist.
    const detail = `${image.tagged} was not found, or ${image.registry} gives no access to it`;
    throw refuse("registry_auth", `${detail}; check the name and the registry's credentials`);
  }
  throwTrouble(answer);
  const detail = `the registry ${image.registry} answered ${status} to ${image.tagged}`;
  throw refuse("registry_unavailable", `${detail}; check that it is a registry`);
}
