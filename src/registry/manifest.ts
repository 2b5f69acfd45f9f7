/** Asks a registry for the digest of a tag (OCI distribution specification, "Pulling manifests"). */
import { createHash } from "node:crypto";
import { type Dispatcher, request } from "undici";
import {
  basicAuthorization,
  createTokenSource,
  parseChallenge,
  type TokenSource,
} from "./challenge.ts";
import type { FindCredential } from "./credentials.ts";
import { type ImageName, isPlainHttp } from "./image-name.ts";
import { refuse } from "./refusal.ts";

/** All four, always: a registry answers 404 for an image whose kind of manifest was not asked for. */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

const timeoutMs = 10_000;

export type ManifestSettings = { findCredential: FindCredential; insecure: readonly string[] };

/** Trouble that may pass: the caller tries again. */
export class RegistryTrouble extends Error {
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

/**
 * Answers the digest (`sha256:…`) that `reference`, a tag or digest of the image, has now. Throws a
 * `ProblemError` for what asking again would not change, and `RegistryTrouble` for the rest.
 */
export function createReadDigest(settings: ManifestSettings) {
  const tokens = createTokenSource(timeoutMs);
  return async (image: ImageName, reference: string): Promise<string> => {
    const scheme = isPlainHttp(image.registry, settings.insecure) ? "http" : "https";
    const address = `${scheme}://${image.registry}/v2/${image.repository}/manifests/${reference}`;
    const authorization = await authorize(address, image, settings.findCredential, tokens);
    const head = await ask("HEAD", address, authorization);
    judge(head, image);
    const digest = head.headers["docker-content-digest"];
    if (typeof digest === "string") return digest;
    const whole = await ask("GET", address, authorization);
    judge(whole, image);
    return `sha256:${createHash("sha256").update(whole.body).digest("hex")}`;
  };
}

/** What to send along: found out by asking without, because only the registry knows its scheme. */
async function authorize(
  address: string,
  image: ImageName,
  findCredential: FindCredential,
  tokens: TokenSource,
): Promise<string | undefined> {
  const answer = await ask("HEAD", address, undefined);
  if (answer.status !== 401) return undefined;
  const challenge = parseChallenge([answer.headers["www-authenticate"]].flat()[0] ?? "");
  const credential = findCredential(image.registry);
  if (challenge?.scheme === "bearer") return `Bearer ${await tokens(challenge, credential)}`;
  return credential === undefined ? undefined : basicAuthorization(credential);
}

type Answer = {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
};

async function ask(
  method: Dispatcher.HttpMethod,
  address: string,
  authorization: string | undefined,
): Promise<Answer> {
  const headers = { accept, ...(authorization !== undefined && { authorization }) };
  try {
    const answer = await request(address, {
      method,
      headers,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const body = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, body };
  } catch (error) {
    const { code = "error" } = error as NodeJS.ErrnoException;
    throw new RegistryTrouble(`${code} on the way to ${new URL(address).host}`);
  }
}

function judge({ status, headers }: Answer, image: ImageName): void {
  if (status === 200) return;
  if (status === 404) {
    throw refuse(
      "image_not_found",
      `${image.tagged} does not exist in its registry; push it first`,
    );
  }
  if (status === 401 || status === 403) {
    // Many registries answer so for a name that does not exist as well.
    const detail = `${image.registry} gives no access to ${image.tagged}, or it does not exist`;
    throw refuse("registry_auth", `${detail}; check the name and the registry's credentials`);
  }
  if (status === 429) throw new RegistryTrouble("429", retryAfterMs(headers["retry-after"]));
  throw new RegistryTrouble(`${image.registry} answered ${status}`);
}

function retryAfterMs(header: string | string[] | undefined): number | undefined {
  const seconds = Number([header].flat()[0]);
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
}
