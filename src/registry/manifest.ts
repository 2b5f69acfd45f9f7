/** Asks a registry for the digest of an image (OCI distribution specification, "Pulling manifests"). */
import { createHash } from "node:crypto";
import { parseJson } from "#kernel/body.ts";
import type { RegistryClient } from "./client.ts";
import type { RegistryConfig } from "./config.ts";
import { type Answer, throwTrouble } from "./exchange.ts";
import {
  type ImageName,
  isAllowed,
  parseImageName,
  RegistryTrouble,
  refuse,
} from "./image-name.ts";
import { withRetries } from "./retries.ts";

/** Always all four: without its own kind an image is not found, or is another one (findings/one-tag-has-two-digests.sh). */
export const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** A GET after these is answered no better than the HEAD was: no access, and too many requests. */
const limiting = [401, 408, 429, 503];

/**
 * Each call is an attempt to read the current digest (`sha256:…`) of `reference`, a tag or digest of the image. Asks by
 * HEAD, which registries do not count as a pull; then by GET, because some answer a HEAD with an error, or not at all.
 * Throws a `ProblemError` for final errors, and `RegistryTrouble` for those that may be temporary.
 */
function createReadDigest(
  client: RegistryClient,
  image: ImageName,
  reference: string,
): () => Promise<string> {
  const exchange = client(image);
  const asked = { path: `manifests/${reference}`, accept: manifestTypes };
  let asksHead = true;
  return async () => {
    if (asksHead) {
      // If there is no answer, the next attempt asks by GET.
      asksHead = false;
      const head = await exchange({ method: "HEAD", ...asked });
      asksHead = limiting.includes(head.status);
      if (asksHead) requireSuccess(head, image);
      const digest = readDigestHeader(head);
      if (digest !== undefined) return digest;
    }
    const whole = await exchange({ method: "GET", ...asked });
    requireSuccess(whole, image);
    return readDigestHeader(whole) ?? computeDigest(whole, image);
  };
}

/** Ignores other algorithms than sha256, which is what all later steps expect. */
function readDigestHeader({ status, header }: Answer): string | undefined {
  const digest = status === 200 ? header("docker-content-digest") : undefined;
  return digest !== undefined && /^sha256:[a-f0-9]{64}$/.test(digest) ? digest : undefined;
}

/** Throws when the body is not a manifest: many web servers answer 200 to every request. */
function computeDigest({ body }: Answer, image: ImageName): string {
  const digest = digestOf(body);
  if (!isManifest(body)) {
    const detail = `the answer of ${image.registry} for ${image.tagged} is not an image manifest`;
    throw refuse("registry_unavailable", `${detail}; check that it is a registry`);
  }
  if (image.digest === undefined || image.digest === digest) return digest;
  throw new RegistryTrouble(`the content does not match ${image.digest}`);
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Every kind of manifest and index has a `schemaVersion`. */
function isManifest(body: Buffer): boolean {
  const { schemaVersion } = (parseJson(body) ?? {}) as { schemaVersion?: unknown };
  return typeof schemaVersion === "number";
}

/** Throws unless the status is 200: a `ProblemError`, or `RegistryTrouble` where a retry makes sense. */
export function requireSuccess(answer: Answer, image: ImageName): void {
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

/**
 * Returns `image` with the current digest of its tag, so that every sentinel gets the same content even if
 * the tag moves. An image with a digest keeps it, once the registry has confirmed that it exists: when tag
 * and digest disagree the digest wins, as it does when the image is pulled. Throws a `ProblemError` (400
 * invalid_request, image_not_found, image_not_allowed, registry_auth; 503 registry_unavailable, which does
 * not mean that the image is missing).
 */
export function createPinImage(settings: RegistryConfig, client: RegistryClient) {
  return async (image: string): Promise<string> => {
    const name = parseImageName(image);
    if (!isAllowed(name, settings.allowed)) {
      const allowed = settings.allowed.join(", ");
      const detail = `${name.tagged} is not in an allowed registry or repository`;
      throw refuse("image_not_allowed", `${detail}; registry.allowed has ${allowed}`);
    }
    const digest = await withRetries(
      createReadDigest(client, name, name.digest ?? name.tag ?? "latest"),
      (why) => `cannot check now whether the image exists in ${name.registry} (${why})`,
      { notFoundWaitMs: settings.not_found_wait_seconds * 1_000 },
    );
    return `${name.tagged}@${name.digest ?? digest}`;
  };
}
